// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/multilabel_pass.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "families/loss.hpp"
#include "passes/multilabel_kernel.hpp"

namespace tally::metrics {
namespace {

// True if a tensor has `num_columns` numbers in each of at least num_rows rows, one after another.
bool has_rows(const TensorView& tensor, std::int64_t num_rows, std::int64_t num_columns) {
  if (tensor.shape.empty() || tensor.shape[0] < num_rows) return false;
  if (tensor.shape.size() == 1) return num_columns == 1;
  return tensor.shape.size() == 2 && tensor.shape[1] == num_columns &&
         (tensor.strides[1] == 1 || num_columns == 1);
}

[[noreturn]] void throw_internal_error(const TensorView& scores, const TensorView& targets,
                                       std::int64_t num_rows) {
  throw Error(ErrorKind::internal,
              format("the pass over the labels of {} rows was given scores {} {} on {} and targets "
                     "{} {} on {}",
                     num_rows, name(scores.dtype), to_string(scores.shape), name(scores.device),
                     name(targets.dtype), to_string(targets.shape), name(targets.device)));
}

LabelBatch batch_of(const TensorView& scores, const TensorView& targets, std::int64_t num_rows,
                    DeviceKind device) {
  // The type tells the two forms apart: int64 targets are one label a sample (binary), uint8
  // targets are several.
  const bool one_label = targets.dtype == DType::i64 && has_rows(targets, num_rows, 1);
  const bool many = targets.dtype == DType::u8 && targets.shape.size() == 2 &&
                    targets.shape[1] >= 1 && has_rows(targets, num_rows, targets.shape[1]);
  LabelBatch batch;
  if (one_label || many) batch.num_labels = one_label ? 1 : targets.shape[1];
  // Two scores of one label are those of its not being set and of its being set.
  batch.num_scores = one_label && has_rows(scores, num_rows, 2) ? 2 : batch.num_labels;
  const bool scores_fit =
      scores.dtype == DType::f32 && has_rows(scores, num_rows, batch.num_scores);
  const bool placed = scores.device == device && targets.device == device;
  if (batch.num_labels == 0 || !scores_fit || !placed)
    throw_internal_error(scores, targets, num_rows);
  batch.scores = scores.as<const float>();
  batch.score_stride = scores.strides[0];
  batch.target_stride = targets.strides[0];
  if (one_label) batch.labels = targets.as<const std::int64_t>();
  if (many) batch.set = targets.as<const std::uint8_t>();
  return batch;
}

[[noreturn]] void refuse_target(std::int64_t row) {
  throw Error(ErrorKind::internal, format("row {} of a batch has a target that is none", row));
}

void examine(const LabelBatch& batch, std::int64_t first_index, const LabelRules& rules,
             LabelStatistics& stats) {
  for (std::size_t i = 0; i < stats.rows.size(); ++i) {
    MultilabelRecord& row = stats.rows[i];
    row = {};
    row.index = static_cast<std::uint64_t>(first_index) + i;
    const std::size_t first = i * to_size(batch.num_labels);
    const LabelPlace place{stats.probabilities.data() + first, stats.targets.data() + first};
    const auto number = static_cast<std::int64_t>(i);
    const LabelVerdict verdict = compute_sample_statistics(batch.row(number), rules, row, place);
    if (!verdict.good_targets) refuse_target(number);
    if (!verdict.fits_kind) {
      stats.wrong_kind_row = number;
      return;
    }
  }
}

// Makes room for so many rows, and forgets what was found of the batch before.
void resize(std::int64_t num_rows, std::int64_t num_labels, LabelStatistics& stats) {
  stats.rows.resize(to_size(num_rows));
  stats.probabilities.resize(to_size(num_rows * num_labels));
  stats.targets.resize(to_size(num_rows * num_labels));
  stats.wrong_kind_row.reset();
}

}  // namespace

LabelRules label_rules(const MetricOptions& options, OutputKind kind) {
  LabelRules rules{.kind = kind,
                   .has_ignore_index = options.ignore_index.has_value(),
                   .ignore_index = options.ignore_index.value_or(0),
                   .hinge = hinge_on(options),
                   .threshold = static_cast<float>(options.threshold)};
  // Rankings compare each set label with all others, which costs the square of the number of
  // labels: only where they are asked for.
  for (const char* name : {"coverage_error", "ranking_loss", "label_ranking_average_precision"}) {
    if (contains(options.names, name)) rules.ranking = LabelRanking::wanted;
  }
  return rules;
}

void compute_multilabel_statistics(const TensorView& scores, const TensorView& targets,
                                   std::int64_t first_index, std::int64_t num_rows,
                                   const LabelRules& rules, LabelStatistics& stats) {
  const LabelBatch batch = batch_of(scores, targets, num_rows, DeviceKind::cpu);
  resize(num_rows, batch.num_labels, stats);
  examine(batch, first_index, rules, stats);
}

BatchLabels::BatchLabels(std::int64_t max_rows, std::int64_t num_labels,
                         const device::Device& device)
    : max_rows_(max_rows), num_labels_(num_labels) {
  if (device.kind == DeviceKind::cpu) return;
  const std::int64_t num_bytes = LabelBlock(nullptr, max_rows, num_labels).num_bytes();
  on_device_ = device::DeviceBuffer(num_bytes, device);
  on_host_ = device::HostBuffer(num_bytes, device);
}

const LabelStatistics& BatchLabels::stats() {
  if (on_host_.data() == nullptr) return stats_;
  const LabelBlock found(on_host_.data(), max_rows_, num_labels_);
  // The reader has checked the targets, so this is a fault of the program.
  if (found.bad()->label != 0) {
    refuse_target(checked_cast<std::int64_t>(row_of_mark(found.bad()->label)));
  }
  resize(num_rows_, num_labels_, stats_);
  std::copy_n(found.rows(), stats_.rows.size(), stats_.rows.begin());
  std::copy_n(found.probabilities(), stats_.probabilities.size(), stats_.probabilities.begin());
  std::copy_n(found.targets(), stats_.targets.size(), stats_.targets.begin());
  if (found.bad()->wrong_kind != 0) {
    stats_.wrong_kind_row = checked_cast<std::int64_t>(row_of_mark(found.bad()->wrong_kind));
  }
  return stats_;
}

MultilabelPass::MultilabelPass(const MetricSet& metrics, OutputKind kind)
    : metrics_(metrics), rules_(label_rules(metrics.options(), kind)) {}

void MultilabelPass::enqueue(std::int64_t first_index, std::int64_t num_rows,
                             const TensorView& scores, const TensorView& targets,
                             DeviceAccumulator& counts, BatchLabels& stats) const {
  const device::Stream& stream = counts.stream();
  const LabelBatch batch = batch_of(scores, targets, num_rows, stream.device().kind);
  if (num_rows > stats.max_rows_ || batch.num_labels != stats.num_labels_) {
    throw_internal_error(scores, targets, num_rows);
  }
  stats.num_rows_ = num_rows;
  if (stream.device().kind == DeviceKind::cpu) {
    compute_multilabel_statistics(scores, targets, first_index, num_rows, rules_, stats.stats_);
    // Rows of the wrong kind are void, and the run ends with them.
    if (!stats.stats_.wrong_kind_row) metrics_.update(stats.stats_.view(), counts.state());
    return;
  }
  const LabelBlock found(stats.on_device_.data(), stats.max_rows_, stats.num_labels_);
  stream.fill_zero(std::as_writable_bytes(std::span(found.bad(), 1)));
  launch_label_rows({.batch = batch,
                     .num_rows = num_rows,
                     .first_index = first_index,
                     .rules = rules_,
                     .counters = metrics_.counters(),
                     .counts = counts.values(),
                     .bad = found.bad(),
                     .rows = found.rows(),
                     .place = {found.probabilities(), found.targets()}},
                    stream.handle());
  stream.copy_to_host(stats.on_host_.data(), stats.on_device_.bytes());
}

}  // namespace tally::metrics
