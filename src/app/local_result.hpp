// What one rank has counted and recorded of its samples after the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tally/evaluate/loop.hpp>
#include <tally/exact/state.hpp>
#include <tally/exchange/answer_thresholds.hpp>
#include <tally/predictions/log.hpp>

#include "session.hpp"

namespace tally::app {

// How the loop of one rank went.
struct LoopStatistics {
  evaluate::LoopFindings findings;
  double read_s = 0;
  std::int64_t bytes_read = 0;          // from the data set
  std::optional<double> energy_j = {};  // of this rank's GPU, also by others that compute on it
};

struct LocalResult {
  exact::State state;
  predictions::PredictionLog log;
  predictions::PredictionLog kept;  // retained for what is computed after the loop
  // Where several samples make a unit, these are of units from here on (units.hpp):
  std::int64_t first_index = 0;                          // of the first row of both
  std::vector<std::int64_t> unit_samples;                // first sample of each
  std::optional<predictions::PredictionLog> texts;       // lines of the result's JSON files
  std::vector<exchange::AnswerMargin> margins;           // where a metric is made of them
  std::optional<predictions::PredictionLog> detections;  // metrics::DetectionRow, where they are
  LoopStatistics loop;
};

// The memory of each log, in bytes, before it goes to a file.
inline constexpr std::int64_t kLogMemoryBytes = std::int64_t{64} << 20;

// A result with nothing counted and nothing recorded, whose logs have these columns.
LocalResult empty_result(const EvaluationSession& session, std::vector<predictions::ColumnSpec> log,
                         std::vector<predictions::ColumnSpec> kept);

// Evaluates this rank's slice. No communication: what it throws must end the whole MPI job.
LocalResult run_loop(EvaluationSession& session, evaluate::Observer& observer);

}  // namespace tally::app
