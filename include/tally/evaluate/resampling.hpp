// SPDX-License-Identifier: Apache-2.0
// Recounts retained samples after the loop, for subgroups and replicates of a bootstrap. Each count
// is a State of Resampling::resample_layout(), to be summed over ranks. This header knows no rank.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/tasks/capabilities.hpp>

namespace tally::evaluate {

// What a rank kept of its samples.
struct RetainedSamples {
  const tasks::Resampling& task;
  // Of Resampling::retained_columns(), or of a unit's samples.
  const predictions::PredictionLog& log;
  std::int64_t first_index = 0;  // global index of the first
};

// Rows [first, first + count), counted from this rank's first one. Read from disk where the log has
// spilled. Without ragged columns.
void read_window(const RetainedSamples& retained, std::int64_t first, std::int64_t count,
                 predictions::RecordBatch& window);

// Calls `visit` with the kept rows in order, at most 4,096 and about 512 KiB at a time, ragged
// columns too: `first` is counted from this rank's first row.
using VisitWindow = std::function<void(std::int64_t first, const predictions::RecordBatch& window)>;
void for_each_window(const RetainedSamples& retained, const VisitWindow& visit);

// One state per subgroup. codes: the subgroup of each of this rank's rows, 0 … num_groups - 1.
std::vector<exact::State> count_groups(const RetainedSamples& retained, std::int64_t num_groups,
                                       std::span<const std::int32_t> codes);

// One state per replicate first … first + count - 1, samples weighted by metrics::PoissonWeights.
std::vector<exact::State> count_replicates(const RetainedSamples& retained, std::int64_t seed,
                                           std::int64_t first, std::int64_t count);

}  // namespace tally::evaluate
