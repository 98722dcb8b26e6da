// SPDX-License-Identifier: Apache-2.0
// Goes over the scores of a batch in one pass, which finds the statistics of each sample and counts
// them into the State. A GPU and the CPU give the same bits for the same scores.
#pragma once

#include <cstdint>

#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>
#include <tally/metrics/device_accumulator.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/multiclass_statistics.hpp>

namespace tally::metrics {

// Statistics of one batch on their way from the device to the host. Readable once the stream has
// passed the batch.
class BatchStatistics {
 public:
  BatchStatistics(std::int64_t max_rows, const device::Device& device);

  // As compute_multiclass_statistics() gives them.
  const RowStatistics& stats();

 private:
  friend class MulticlassPass;

  device::DeviceBuffer on_device_;  // empty on the CPU
  device::HostBuffer on_host_;
  std::int64_t max_rows_ = 0;
  std::int64_t num_rows_ = 0;
  RowStatistics stats_;
};

class MulticlassPass {
 public:
  // `metrics` outlives the pass.
  MulticlassPass(const MetricSet& metrics, OutputKind kind, const device::Device& device);

  // Enqueues the pass on the stream of `counts`, and the statistics' way to the host.
  // scores: [rows >= num_rows, classes] float32, unit stride along classes; labels: [>= num_rows]
  // int64; both on the stream's device. Error(internal) for other forms and too many rows.
  void enqueue(std::int64_t first_index, std::int64_t num_rows, const TensorView& scores,
               const TensorView& labels, DeviceAccumulator& counts, BatchStatistics& stats) const;

 private:
  const MetricSet& metrics_;
  ScoreRules rules_;
  device::DeviceBuffer class_weights_;  // empty on the CPU, and without weights
};

// How the options want scores to be judged; class weights are the options' own.
ScoreRules score_rules(const MetricOptions& options, OutputKind kind);

}  // namespace tally::metrics
