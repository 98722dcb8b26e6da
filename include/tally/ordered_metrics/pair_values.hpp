// The values of a regression on this rank, output by output.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/ordered_metrics/spearman.hpp>

namespace tally::ordered_metrics {

// What counts of one output.
struct PairValues {
  std::vector<float> predictions;
  std::vector<float> targets;
  std::vector<std::int64_t> index;  // global sample indices
};

// Not collective. Outputs first .. first + count - 1 of all rows of this rank, read in windows.
// Error(numeric) names the first prediction that is NaN where the target counts.
std::vector<PairValues> read_outputs(const PairRows& rows, std::int64_t first, std::int64_t count);

}  // namespace tally::ordered_metrics
