// A sample whose targets are real numbers, one or several of them. Plain data: kernels read it.
#pragma once

#include <cstdint>

namespace tally::metrics {

struct RegressionRecord {
  std::uint64_t index = 0;             // global sample index
  const float* predictions = nullptr;  // [outputs]
  const float* targets = nullptr;      // [outputs], finite
  std::int64_t num_outputs = 0;
  bool finite = true;  // false: a prediction is NaN or Inf; the row counts in no metric
};

}  // namespace tally::metrics
