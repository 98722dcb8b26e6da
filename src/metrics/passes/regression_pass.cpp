// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/regression_pass.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "family_counters.hpp"
#include "passes/regression_kernel.hpp"

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

// Does what the kernel does, but for the counting: RegressionBatch then reads one block on CPUs and
// GPUs.
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
    // The reader has checked the targets, so this is a fault of the program.
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
    // rows() throws before anything of the batch is counted.
    metrics_.update(batch.rows(), counts.state());
    return;
  }
  launch_count_values(values, stream.handle());
  stream.copy_to_host(batch.on_host_.data(), batch.on_device_.bytes());
}

namespace {

// A pixel adds at most twice to the limbs of a sum, so that 2^20 of them stay far below the 2^30
// adds that limbs bear.
constexpr std::size_t kRun = std::size_t{1} << 20;  // pixels between two carries

bool is_scored(float target) { return !std::isnan(target); }

// Adds a run of pixels, and their squared errors to `squared_error`. Returns false where a
// prediction is not finite: the image is then left out as a whole.
template <class Add>
bool count_run(const RegressionCounters& counters, std::span<const float> predictions,
               std::span<const float> targets, const Add& add, double& squared_error) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!is_scored(targets[i])) continue;
    if (!is_finite(predictions[i])) return false;
    counters.count_output(0, predictions[i], targets[i], add);
    add(counters.pixels, 1);
    const double error = double{predictions[i]} - double{targets[i]};
    squared_error += error * error;
  }
  return true;
}

}  // namespace

MapSums::MapSums(const MetricSet& metrics) : metrics_(metrics), image_(metrics.layout()) {
  if (metrics.counters().regression.pixels == kNotKept) {
    throw Error(ErrorKind::internal, "sums over pixels were asked of metrics of other values");
  }
}

std::int64_t MapSums::num_sums() const { return metrics_.counters().regression.num_sums; }

DenseRegressionRecord MapSums::count(std::uint64_t index, std::span<const float> predictions,
                                     std::span<const float> targets) {
  if (predictions.size() != targets.size()) {
    throw Error(ErrorKind::internal,
                format("{} predictions for {} pixels", predictions.size(), targets.size()));
  }
  const RegressionCounters& counters = metrics_.counters().regression;
  std::ranges::fill(image_.values(), 0);
  const auto values = image_.values();
  const auto add = [values](std::int64_t offset, std::int64_t value) {
    values[to_size(offset)] += value;
  };
  double squared_error = 0;
  bool finite = true;
  for (std::size_t first = 0; first < targets.size() && finite; first += kRun) {
    const std::size_t count = std::min(kRun, targets.size() - first);
    finite = count_run(counters, predictions.subspan(first, count), targets.subspan(first, count),
                       add, squared_error);
    image_.canonicalise();
  }
  const auto sums = values.subspan(to_size(counters.pixels), to_size(counters.num_sums));
  // What was added before the bad pixel goes. The number of scored pixels stays, since it tells
  // such an image from an ignored one.
  if (!finite) {
    std::ranges::fill(sums, 0);
    sums[0] = std::ranges::count_if(targets, is_scored);
  }
  DenseRegressionRecord row = retained_dense_regression_record(sums, finite);
  row.index = index;
  row.predictions = predictions;
  const bool has_loss = finite && row.num_pixels > 0;
  row.loss = has_loss ? squared_error / static_cast<double>(row.num_pixels)
                      : std::numeric_limits<double>::quiet_NaN();
  return row;
}

DenseRegressionRecord retained_dense_regression_record(std::span<const std::int64_t> sums,
                                                       bool finite) {
  return {.ignored = sums[0] == 0,
          .finite = finite,
          .num_pixels = sums[0],
          .sums = sums.data(),
          .num_sums = std::ssize(sums)};
}

}  // namespace tally::metrics
