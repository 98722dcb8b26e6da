#include <tally/metrics/score_pass.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "score_rows.hpp"

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

// The CPU stops at the first row that cannot be scored.
void keep_first(RowFacts& facts) {
  if (!facts.non_finite_row || !facts.wrong_kind_row) return;
  if (*facts.non_finite_row < *facts.wrong_kind_row) {
    facts.wrong_kind_row.reset();
  } else {
    facts.non_finite_row.reset();
  }
}

template <class T>
void copy(const T* values, std::int64_t count, std::vector<T>& to) {
  to.assign(values, values + count);
}

}  // namespace

BatchFacts::BatchFacts(std::int64_t max_rows, const device::Device& device) : max_rows_(max_rows) {
  if (device.kind == DeviceKind::cpu) return;
  on_device_ = device::DeviceBuffer(facts_block_bytes(max_rows), device);
  on_host_ = device::HostBuffer(facts_block_bytes(max_rows), device);
}

const RowFacts& BatchFacts::facts() {
  if (on_host_.data() == nullptr) return facts_;
  const FactsBlock block = facts_block(on_host_.data(), max_rows_);
  if (const auto row = row_of(block.bad->label)) {
    throw Error(ErrorKind::internal,
                format("row {} of a batch has a label that is no class", *row));
  }
  copy(block.label, num_rows_, labels_);
  copy(block.prediction, num_rows_, facts_.prediction);
  copy(block.label_rank, num_rows_, facts_.label_rank);
  copy(block.loss, num_rows_, facts_.loss);
  copy(block.confidence, num_rows_, facts_.confidence);
  copy(block.label_tied, num_rows_, facts_.label_tied);
  facts_.non_finite_row = row_of(block.bad->non_finite);
  facts_.wrong_kind_row = row_of(block.bad->wrong_kind);
  keep_first(facts_);
  return facts_;
}

std::span<const std::int64_t> BatchFacts::labels() const { return labels_; }

void ScorePass::enqueue(std::int64_t first_index, std::int64_t num_rows, const TensorView& scores,
                        const TensorView& labels, DeviceCounts& counts, BatchFacts& facts) const {
  const device::Stream& stream = counts.stream();
  check_form(scores, labels, num_rows, facts.max_rows_, stream.device().kind);
  facts.num_rows_ = num_rows;
  if (stream.device().kind == DeviceKind::cpu) {
    copy(labels.as<const std::int64_t>(), num_rows, facts.labels_);
    examine_rows(scores, facts.labels_, metrics_.options().ignore_index, kind_, facts.facts_);
    const bool is_void = facts.facts_.non_finite_row || facts.facts_.wrong_kind_row;
    if (!is_void) metrics_.update(first_index, facts.labels_, facts.facts_, counts.state());
    return;
  }
  const FactsBlock block = facts_block(facts.on_device_.data(), facts.max_rows_);
  stream.fill_zero(std::as_writable_bytes(std::span(block.bad, 1)));
  launch_score_rows({.scores = scores.as<const float>(),
                     .row_stride = scores.strides[0],
                     .num_rows = num_rows,
                     .num_classes = scores.shape[1],
                     .labels = labels.as<const std::int64_t>(),
                     .first_index = first_index,
                     .has_ignore_index = metrics_.options().ignore_index.has_value(),
                     .ignore_index = metrics_.options().ignore_index.value_or(0),
                     .kind = kind_,
                     .counters = metrics_.counters(),
                     .counts = counts.values(),
                     .facts = block},
                    stream.handle());
  stream.copy_to_host(facts.on_host_.data(), facts.on_device_.bytes());
}

}  // namespace tally::metrics
