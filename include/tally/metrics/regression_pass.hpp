// SPDX-License-Identifier: Apache-2.0
// Goes once over what a regression predicted, values or pixels, and adds sums to the State. A GPU
// and the CPU give the same bits for the same predictions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>
#include <tally/exact/state.hpp>
#include <tally/metrics/device_accumulator.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

// A row whose predictions are float32 [num_outputs]; says whether they are finite.
RegressionRecord regression_row(std::uint64_t index, std::span<const float> predictions,
                                std::span<const float> targets);

// A batch's predictions and targets on their way from the device to the host. Readable once the
// stream has passed the batch.
class RegressionBatch {
 public:
  RegressionBatch(std::int64_t max_rows, std::int64_t num_outputs, const device::Device& device);

  // They point into this object. Error(internal) if a target is not finite (the reader has checked
  // them).
  const std::vector<RegressionRecord>& rows();

 private:
  friend class RegressionPass;

  std::int64_t max_rows_ = 0;
  std::int64_t num_outputs_ = 0;
  device::DeviceBuffer on_device_;  // empty on the CPU
  device::HostBuffer on_host_;
  std::uint64_t first_index_ = 0;
  std::int64_t num_rows_ = 0;
  std::vector<RegressionRecord> rows_;
};

class RegressionPass {
 public:
  // `metrics` outlives the pass; its number of classes is the number of outputs.
  explicit RegressionPass(const MetricSet& metrics) : metrics_(metrics) {}

  // Enqueues the pass on the stream of `counts`, and the batch's way to the host.
  // predictions, targets: [rows >= num_rows, outputs] float32, unit stride along outputs, or
  // [rows >= num_rows] where there is one output; both on the stream's device. Error(internal) for
  // other forms and too many rows.
  void enqueue(std::int64_t first_index, std::int64_t num_rows, const TensorView& predictions,
               const TensorView& targets, DeviceAccumulator& counts, RegressionBatch& batch) const;

 private:
  const MetricSet& metrics_;
};

// The pass over the pixels of an image that is predicted as numbers, on the CPU: from a GPU they
// are brought there.

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
