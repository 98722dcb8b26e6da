// SPDX-License-Identifier: Apache-2.0
// What the tasks have in common: the checks of a batch, and its tensors on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/device.hpp>
#include <tally/device/stream.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/tasks/task.hpp>

namespace tally::tasks {

// Tensors of the batch in hand, on the host once the stream has passed it.

// On the CPU the very tensors; from a GPU they are copied.
class HostTensors {
 public:
  explicit HostTensors(const device::Device& device) : device_(device) {}

  // Contiguous tensors on the stream's device, which live until views() are looked at.
  void fetch(std::span<const TensorView> tensors, const device::Stream& stream);
  const std::vector<TensorView>& views() const { return views_; }

 private:
  device::Device device_;
  std::vector<device::HostBuffer> copies_;  // on a GPU, as large as any batch had them
  std::vector<TensorView> views_;
};

// Where the target that every task scores, "label", stands among the data set's. Error(dataset)
// if it is not there.
std::size_t position_of_label(const TaskOptions& options);
// Error(internal) if the batch has not as many targets as the options name.
const TensorView& label_of(const ScoredBatch& batch, const TaskOptions& options,
                           std::size_t position);

// Of a model that returns nothing else. Error(model) if there are several outputs.
const TensorView& only_output(std::span<const TensorView> outputs);
// The same of scores. Error(model) also for other values than float32.
const TensorView& scores_in(std::span<const TensorView> outputs);
// Error(model) if an output has too few rows for the batch.
void check_rows(const ScoredBatch& batch);
void check_num_rows(std::int64_t rows, std::int64_t num_samples);
// Error(model) names the sample whose output is not of this kind, if there is one.
void check_kind(const std::optional<std::int64_t>& wrong_kind_row, std::int64_t first_index,
                metrics::OutputKind kind);

bool is_saved(SaveColumns group, const TaskOptions& options);

// Of the same metrics without confusion matrices, which would be large for each subgroup or
// replicate.
metrics::MetricOptions without_matrix(metrics::MetricOptions options);

template <class Rows>
std::vector<std::int64_t> not_finite_of(const Rows& rows) {
  std::vector<std::int64_t> indices;
  for (const auto& row : rows) {
    if (!row.finite) indices.push_back(static_cast<std::int64_t>(row.index));
  }
  return indices;
}

// The scores of the batch in hand, on the host once the stream has passed it.
class HostScores {
 public:
  // `row_values` scores per sample are copied from a GPU; 0: none are looked at.
  HostScores(std::int64_t max_samples, std::int64_t row_values, const device::Device& device);

  void fetch(const ScoredBatch& batch, const device::Stream& stream);
  const TensorView& view() const { return view_; }

 private:
  device::HostBuffer copy_;  // on a GPU, where columns are made of scores
  TensorView view_;
};

}  // namespace tally::tasks
