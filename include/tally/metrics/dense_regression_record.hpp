// An image of whose pixels each is a value of a regression, as sums over them. Plain data.
#pragma once

#include <cstdint>
#include <span>

namespace tally::metrics {

struct DenseRegressionRecord {
  std::uint64_t index = 0;  // of the image
  bool ignored = false;     // none of its pixels is scored
  bool finite = true;  // false: the prediction of a scored pixel is NaN or Inf; counts in no metric
  std::int64_t num_pixels = 0;  // that are scored
  double loss = 0;              // mean of their squared errors; NaN without any, or not finite
  // What its pixels add to a State behind RegressionCounters::pixels.
  const std::int64_t* sums = nullptr;  // [num_sums]
  std::int64_t num_sums = 0;
  std::span<const float> predictions = {};  // of all pixels; none where only sums were kept
};

}  // namespace tally::metrics
