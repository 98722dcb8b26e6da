// SPDX-License-Identifier: Apache-2.0
// Holds what one rank has counted and recorded of its samples after the loop, the samples that it
// retained, and the folder for records that outgrow memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/config/run_options.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/evaluate/resampling.hpp>
#include <tally/exact/state.hpp>
#include <tally/ordered_metrics/no_answer_threshold.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// --spill-dir, else $TMPDIR, else /tmp.
std::string spill_folder(const config::ResultOptions& options);

// Tries a file there. Throws Error(output) if that fails: a run may need one only hours later.
void check_spill_folder(const config::ResultOptions& options);

// How the loop of one rank went.
struct LoopStatistics {
  evaluate::LoopStats stats;
  double read_s = 0;
  std::int64_t bytes_read = 0;          // from the data set
  std::optional<double> energy_j = {};  // of this rank's GPU, also by others that compute on it
  // Of the whole data set, on the rank that has it.
  std::optional<diagnosis::FirstBatch> first_batch = {};
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

// Columns of the records that the loop itself makes: none where these are made after it, of units
// or of matched detections.
std::vector<predictions::ColumnSpec> loop_columns(const EvaluationSession& session);

// Nothing counted and nothing recorded, in logs of these columns.
LocalSamples empty_samples(const EvaluationSession& session,
                           std::vector<predictions::ColumnSpec> log,
                           std::vector<predictions::ColumnSpec> retained);

// What a rank kept of its samples, for what is computed of them after the loop.

// Both outlive it.
inline evaluate::RetainedSamples retained_samples(const EvaluationSession& session,
                                                  const LocalUnits& local) {
  return {*session.scoring.task, local.retained, local.first_index};
}
inline evaluate::RetainedSamples retained_samples(const EvaluationSession& session,
                                                  const LocalSamples& local) {
  return {*session.scoring.task, local.retained, local.first_index};
}

// Of `rows`, ordered_metrics::ScoreRows or PairRows, only one subgroup shall count: the targets of
// the others become `not_counted`. codes: the subgroup of each row; they outlive the rows.
template <class Rows, class Target>
void count_only(const std::vector<std::int32_t>& codes, std::int32_t code, Target not_counted,
                Rows& rows) {
  rows.read = [&codes, code, not_counted, all = std::move(rows.read)](
                  std::int64_t first, std::int64_t count, std::span<float> values,
                  std::span<Target> targets) {
    all(first, count, values, targets);
    const std::size_t width = targets.size() / std::max<std::size_t>(to_size(count), 1);
    for (std::size_t i = 0; i < to_size(count); ++i) {
      if (codes[to_size(first) + i] == code) continue;
      std::ranges::fill(targets.subspan(i * width, width), not_counted);
    }
  };
}

}  // namespace tally::app
