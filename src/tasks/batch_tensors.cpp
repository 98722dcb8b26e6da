// SPDX-License-Identifier: Apache-2.0
#include "batch_tensors.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::tasks {

void HostTensors::fetch(std::span<const TensorView> tensors, const device::Stream& stream) {
  views_.assign(tensors.begin(), tensors.end());
  // On the CPU the stream has done its work when a call returns, and one batch at a time is in
  // flight: the tensors can be read where they are.
  if (device_.kind == DeviceKind::cpu) return;
  if (copies_.size() < tensors.size()) copies_.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t bytes = num_elements(tensors[i].shape) * size_bytes(tensors[i].dtype);
    // The buffers only grow. The loop warms its scorers with a batch of full size, so that nothing
    // is allocated while the GPU works on data.
    if (copies_[i].num_bytes() < bytes) copies_[i] = device::HostBuffer(bytes, device_);
    stream.copy_to_host(copies_[i].data(), {tensors[i].as<const std::byte>(), to_size(bytes)});
    views_[i] = contiguous_view(copies_[i].data(), tensors[i].dtype, tensors[i].shape);
  }
}

std::size_t position_of_label(const TaskOptions& options) {
  // The order of targets is that of the data set, which may hold others beside the label.
  const auto found = std::ranges::find(options.targets, "label");
  if (found == options.targets.end()) {
    throw Error(ErrorKind::dataset,
                format("the data set has the targets [{}], expected 'label' for {}",
                       fmt::join(options.targets, ", "), options.task));
  }
  return to_size(found - options.targets.begin());
}

const TensorView& label_of(const ScoredBatch& batch, const TaskOptions& options,
                           std::size_t position) {
  // The reader delivers the columns of which the options were made, so that another number is a
  // defect of the program, not of the data.
  if (batch.targets.size() != options.targets.size()) {
    throw Error(ErrorKind::internal, format("{} targets in a batch, expected {}",
                                            batch.targets.size(), options.targets.size()));
  }
  return batch.targets[position];
}

const TensorView& only_output(std::span<const TensorView> outputs) {
  if (outputs.size() == 1) return outputs.front();
  throw Error(ErrorKind::model,
              format("the model returned {} tensors, expected one: the scores", outputs.size()),
              "Name the scores alone under outputs in its card (docs/model-card.md).");
}

const TensorView& scores_in(std::span<const TensorView> outputs) {
  const TensorView& scores = only_output(outputs);
  if (scores.dtype == DType::f32) return scores;
  throw Error(ErrorKind::model,
              format("the model returned {}, expected floating-point scores", name(scores.dtype)));
}

void check_rows(const ScoredBatch& batch) {
  for (const TensorView& output : batch.outputs) {
    check_num_rows(output.shape[0], batch.num_samples);
  }
}

void check_num_rows(std::int64_t rows, std::int64_t num_samples) {
  // More rows are allowed: those past the samples are padding (ScoredBatch).
  if (rows >= num_samples) return;
  throw Error(ErrorKind::model,
              format("the model returned {} rows for a batch of {} samples", rows, num_samples));
}

void check_kind(const std::optional<std::int64_t>& wrong_kind_row, std::int64_t first_index,
                metrics::OutputKind kind) {
  if (!wrong_kind_row) return;
  throw Error(ErrorKind::model,
              format("the model's outputs for sample {} are not {}", first_index + *wrong_kind_row,
                     metrics::name(kind)),
              "Say what the model returns with --outputs.");
}

bool is_saved(SaveColumns group, const TaskOptions& options) {
  return std::ranges::find(options.save, group) != options.save.end();
}

metrics::MetricOptions without_matrix(metrics::MetricOptions options) {
  // A bound of 0 classes switches the matrix off that is made without being named.
  options.confusion_max_classes = 0;
  std::erase_if(options.names,
                [](const std::string& metric) { return metric.starts_with("confusion_"); });
  // An empty list would mean the standard set of metrics.
  if (options.names.empty()) options.names = {"none"};
  return options;
}

HostScores::HostScores(std::int64_t max_samples, std::int64_t row_values,
                       const device::Device& device) {
  // Pinned memory is costly: none is taken where no column is made of scores.
  if (device.kind == DeviceKind::cuda && row_values > 0) {
    copy_ = device::HostBuffer(max_samples * row_values * size_bytes(DType::f32), device);
  }
}

void HostScores::fetch(const ScoredBatch& batch, const device::Stream& stream) {
  view_ = scores_in(batch.outputs);
  // Either the scores are on the host already, or nobody reads the view, which then refers to
  // memory of the GPU.
  if (copy_.data() == nullptr) return;
  Shape shape = view_.shape;
  shape[0] = batch.num_samples;
  const auto bytes = to_size(num_elements(shape) * size_bytes(DType::f32));
  stream.copy_to_host(copy_.data(), {view_.as<const std::byte>(), bytes});
  view_ = contiguous_view(copy_.data(), DType::f32, std::move(shape));
}

}  // namespace tally::tasks
