#include <tally/metrics/regression_pass.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "passes/count_values.hpp"

namespace tally::metrics {
namespace {

bool has_form(const TensorView& values, std::int64_t num_rows, std::int64_t num_outputs,
              DeviceKind device) {
  const bool one_each = values.shape.size() == 1 && num_outputs == 1;
  const bool several = values.shape.size() == 2 && values.shape[1] == num_outputs &&
                       (values.strides[1] == 1 || num_outputs == 1);
  return values.dtype == DType::f32 && values.device == device && (one_each || several) &&
         values.shape[0] >= num_rows;
}

void check_form(const TensorView& predictions, const TensorView& targets, std::int64_t num_rows,
                std::int64_t num_outputs, DeviceKind device) {
  if (has_form(predictions, num_rows, num_outputs, device) &&
      has_form(targets, num_rows, num_outputs, device)) {
    return;
  }
  throw Error(ErrorKind::internal,
              format("the pass over {} rows of {} outputs on {} was given predictions {} {} on {} "
                     "and targets {} {} on {}",
                     num_rows, num_outputs, name(device), name(predictions.dtype),
                     to_string(predictions.shape), name(predictions.device), name(targets.dtype),
                     to_string(targets.shape), name(targets.device)));
}

// What the kernel does, but for the counting.
void fill_block(const ValuesToCount& values) {
  const std::int64_t outputs = values.num_outputs;
  for (std::int64_t i = 0; i < values.num_rows; ++i) {
    const float* const predictions = values.predictions + i * values.prediction_stride;
    const float* const targets = values.targets + i * values.target_stride;
    std::copy_n(predictions, outputs, values.found.predictions + i * outputs);
    std::copy_n(targets, outputs, values.found.targets + i * outputs);
    values.found.marks[i] = mark_of(all_finite(predictions, outputs), all_finite(targets, outputs));
  }
}

}  // namespace

RegressionRecord regression_row(std::uint64_t index, std::span<const float> predictions,
                                std::span<const float> targets) {
  const std::int64_t outputs = std::ssize(predictions);
  return {index, predictions.data(), targets.data(), outputs,
          all_finite(predictions.data(), outputs)};
}

RegressionBatch::RegressionBatch(std::int64_t max_rows, std::int64_t num_outputs,
                                 const device::Device& device)
    : max_rows_(max_rows),
      num_outputs_(num_outputs),
      on_host_(ValueBlock::num_bytes(max_rows, num_outputs), device) {
  if (device.kind == DeviceKind::cpu) return;
  on_device_ = device::DeviceBuffer(ValueBlock::num_bytes(max_rows, num_outputs), device);
}

const std::vector<RegressionRecord>& RegressionBatch::rows() {
  const ValueBlock found = ValueBlock::in(on_host_.data(), max_rows_, num_outputs_);
  rows_.clear();
  for (std::int64_t i = 0; i < num_rows_; ++i) {
    if (found.marks[i] == RowMark::target_not_finite) {
      throw Error(ErrorKind::internal,
                  format("row {} of a batch has a target that is not finite", i));
    }
    rows_.push_back({first_index_ + static_cast<std::uint64_t>(i),
                     found.predictions + i * num_outputs_, found.targets + i * num_outputs_,
                     num_outputs_, found.marks[i] == RowMark::counted});
  }
  return rows_;
}

void RegressionPass::enqueue(std::int64_t first_index, std::int64_t num_rows,
                             const TensorView& predictions, const TensorView& targets,
                             DeviceAccumulator& counts, RegressionBatch& batch) const {
  const device::Stream& stream = counts.stream();
  const std::int64_t outputs = metrics_.options().num_classes;
  check_form(predictions, targets, num_rows, outputs, stream.device().kind);
  if (num_rows > batch.max_rows_ || outputs != batch.num_outputs_) {
    throw Error(ErrorKind::internal,
                format("{} rows of {} outputs do not fit a batch of {} rows of {}", num_rows,
                       outputs, batch.max_rows_, batch.num_outputs_));
  }
  batch.first_index_ = checked_cast<std::uint64_t>(first_index);
  batch.num_rows_ = num_rows;
  const bool on_cpu = stream.device().kind == DeviceKind::cpu;
  const auto& block =
      on_cpu ? static_cast<const device::Buffer&>(batch.on_host_) : batch.on_device_;
  const ValuesToCount values{.predictions = predictions.as<const float>(),
                             .prediction_stride = predictions.strides[0],
                             .targets = targets.as<const float>(),
                             .target_stride = targets.strides[0],
                             .num_rows = num_rows,
                             .num_outputs = outputs,
                             .first_index = batch.first_index_,
                             .counters = metrics_.counters(),
                             .counts = counts.values(),
                             .found = ValueBlock::in(block.data(), batch.max_rows_, outputs)};
  if (on_cpu) {
    fill_block(values);
    metrics_.update(batch.rows(), counts.state());
    return;
  }
  launch_count_values(values, stream.handle());
  stream.copy_to_host(batch.on_host_.data(), batch.on_device_.bytes());
}

}  // namespace tally::metrics
