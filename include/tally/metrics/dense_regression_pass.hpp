// The pass over the pixels of an image that is predicted as numbers, on the CPU: from a GPU they
// are brought there.
#pragma once

#include <cstdint>
#include <span>

#include <tally/exact/state.hpp>
#include <tally/metrics/dense_regression_record.hpp>
#include <tally/metrics/metric_set.hpp>

namespace tally::metrics {

// What one image gives; one object for many images.
class MapSums {
 public:
  // `metrics`, whose values are pixels, outlives it.
  explicit MapSums(const MetricSet& metrics);

  // How many numbers are kept of an image.
  std::int64_t num_sums() const;
  // One prediction and target for each pixel; a target that is NaN is not scored, and its
  // prediction may be anything. The row points to the predictions, and into this object until the
  // next call.
  DenseRegressionRecord count(std::uint64_t index, std::span<const float> predictions,
                              std::span<const float> targets);

 private:
  const MetricSet& metrics_;
  exact::State image_;
};

// Of what was kept of an image: DenseRegressionRecord::sums; it points to it.
DenseRegressionRecord retained_dense_regression_record(std::span<const std::int64_t> sums,
                                                       bool finite);

}  // namespace tally::metrics
