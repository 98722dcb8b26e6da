// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/multiclass_pass.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "families/loss.hpp"
#include "passes/multiclass_and_token_kernels.hpp"

namespace tally::metrics {
namespace {

void check_form(const TensorView& scores, const TensorView& labels, std::int64_t num_rows,
                std::int64_t max_rows, DeviceKind device) {
  const bool scores_fit = scores.dtype == DType::f32 && scores.shape.size() == 2 &&
                          scores.shape[0] >= num_rows && scores.shape[1] >= 1 &&
                          (scores.strides[1] == 1 || scores.shape[1] == 1) &&
                          scores.device == device;
  const bool labels_fit = labels.dtype == DType::i64 && labels.shape.size() == 1 &&
                          labels.shape[0] >= num_rows && labels.device == device;
  if (scores_fit && labels_fit && num_rows <= max_rows) return;
  throw Error(ErrorKind::internal,
              format("the pass over {} of at most {} rows on {} was given scores {} {} on {} and "
                     "labels {} {} on {}",
                     num_rows, max_rows, name(device), name(scores.dtype), to_string(scores.shape),
                     name(scores.device), name(labels.dtype), to_string(labels.shape),
                     name(labels.device)));
}

std::optional<std::int64_t> row_of(unsigned long long mark) {
  if (mark == 0) return std::nullopt;
  return checked_cast<std::int64_t>(row_of_mark(mark));
}

}  // namespace

ScoreRules score_rules(const MetricOptions& options, OutputKind kind) {
  ScoreRules rules{.kind = kind,
                   .has_ignore_index = options.ignore_index.has_value(),
                   .ignore_index = options.ignore_index.value_or(0),
                   .hinge = hinge_on(options),
                   .label_smoothing = options.label_smoothing};
  if (!options.class_weights.empty()) rules.class_weights = options.class_weights.data();
  return rules;
}

BatchStatistics::BatchStatistics(std::int64_t max_rows, const device::Device& device)
    : max_rows_(max_rows) {
  if (device.kind == DeviceKind::cpu) return;
  on_device_ = device::DeviceBuffer(FoundBlock::num_bytes(max_rows), device);
  on_host_ = device::HostBuffer(FoundBlock::num_bytes(max_rows), device);
}

const RowStatistics& BatchStatistics::stats() {
  if (on_host_.data() == nullptr) return stats_;
  const FoundBlock& found = *on_host_.as<const FoundBlock>();
  // The reader has checked the labels, so this is a fault of the program.
  if (const auto row = row_of(found.bad.label)) {
    throw Error(ErrorKind::internal,
                format("row {} of a batch has a label that is no class", *row));
  }
  stats_.rows.assign(found.rows, found.rows + num_rows_);
  stats_.wrong_kind_row = row_of(found.bad.wrong_kind);
  return stats_;
}

MulticlassPass::MulticlassPass(const MetricSet& metrics, OutputKind kind,
                               const device::Device& device)
    : metrics_(metrics), rules_(score_rules(metrics.options(), kind)) {
  if (rules_.class_weights == nullptr || device.kind == DeviceKind::cpu) return;
  const auto bytes = std::as_bytes(std::span(metrics.options().class_weights));
  // The page-locked copy lives in this scope only, so the copy to the GPU is waited for. That
  // happens once, before the loop.
  class_weights_ = device::DeviceBuffer(std::ssize(bytes), device);
  const device::HostBuffer locked(std::ssize(bytes), device);
  std::ranges::copy(bytes, locked.data());
  const device::Stream stream(device);
  stream.copy_to_device(class_weights_.data(), locked.bytes());
  stream.synchronize();
  rules_.class_weights = class_weights_.as<const double>();
}

void MulticlassPass::enqueue(std::int64_t first_index, std::int64_t num_rows,
                             const TensorView& scores, const TensorView& labels,
                             DeviceAccumulator& counts, BatchStatistics& stats) const {
  const device::Stream& stream = counts.stream();
  check_form(scores, labels, num_rows, stats.max_rows_, stream.device().kind);
  stats.num_rows_ = num_rows;
  if (stream.device().kind == DeviceKind::cpu) {
    const std::span<const std::int64_t> given(labels.as<const std::int64_t>(), to_size(num_rows));
    compute_multiclass_statistics(scores, first_index, given, rules_, stats.stats_);
    // Rows of the wrong kind are void, and the run ends with them: nothing may be counted.
    if (!stats.stats_.wrong_kind_row) metrics_.update(stats.stats_.rows, counts.state());
    return;
  }
  auto* const found = stats.on_device_.as<FoundBlock>();
  // Only the marks are set to zero: the kernel writes each row.
  stream.fill_zero(std::as_writable_bytes(std::span(&found->bad, 1)));
  launch_score_rows({.scores = scores.as<const float>(),
                     .row_stride = scores.strides[0],
                     .num_rows = num_rows,
                     .num_classes = scores.shape[1],
                     .labels = labels.as<const std::int64_t>(),
                     .first_index = first_index,
                     .rules = rules_,
                     .counters = metrics_.counters(),
                     .counts = counts.values(),
                     .found = found},
                    stream.handle());
  // Everything about the batch lies in one block, so that one copy brings it.
  stream.copy_to_host(stats.on_host_.data(), stats.on_device_.bytes());
}

}  // namespace tally::metrics
