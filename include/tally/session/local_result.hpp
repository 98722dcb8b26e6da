// What one rank has counted and recorded of its samples after the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <tally/evaluate/loop.hpp>
#include <tally/exact/state.hpp>
#include <tally/ordered_metrics/answer_thresholds.hpp>
#include <tally/predictions/log.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// How the loop of one rank went.
struct LoopStatistics {
  evaluate::LoopStats stats;
  double read_s = 0;
  std::int64_t bytes_read = 0;          // from the data set
  std::optional<double> energy_j = {};  // of this rank's GPU, also by others that compute on it
};

// What the loop leaves on one rank.
struct LocalSamples {
  exact::State state;
  // Records that are saved; without columns where units make the records.
  predictions::PredictionLog log;
  predictions::PredictionLog retained;  // for what is computed after the loop
  std::int64_t first_index = 0;         // of the first row of both
  LoopStatistics loop;
};

// The same of what is scored as a whole: units that several samples make, or the samples
// themselves.
struct LocalUnits {
  // Each sample is a unit.
  explicit LocalUnits(LocalSamples&& samples)
      : state(std::move(samples.state)),
        log(std::move(samples.log)),
        retained(std::move(samples.retained)),
        first_index(samples.first_index),
        loop(std::move(samples.loop)) {}

  exact::State state;
  predictions::PredictionLog log;
  predictions::PredictionLog retained;
  std::int64_t first_index = 0;                          // of the first row of both
  std::vector<std::int64_t> unit_samples;                // first sample of each
  std::optional<predictions::PredictionLog> texts;       // lines of the result's JSON files
  std::vector<ordered_metrics::AnswerMargin> margins;    // where a metric is made of them
  std::optional<predictions::PredictionLog> detections;  // metrics::DetectionRecord, where they are
  LoopStatistics loop;
};

// A log of these columns, in memory and beyond that in the spill folder.
predictions::PredictionLog empty_log(const EvaluationSession& session,
                                     std::vector<predictions::ColumnSpec> columns);

// Units without records, in logs of these columns, that take over what the loop counted.
LocalUnits units_of(LocalSamples& samples, predictions::PredictionLog records,
                    predictions::PredictionLog retained);

// Nothing counted and nothing recorded, in logs of these columns.
LocalSamples empty_samples(const EvaluationSession& session,
                           std::vector<predictions::ColumnSpec> log,
                           std::vector<predictions::ColumnSpec> retained);

}  // namespace tally::app
