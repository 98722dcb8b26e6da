// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/documents.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/exact/sum.hpp>

#include "column.hpp"

namespace tally::tasks {
namespace {

constexpr auto kKind = exact::SumKind::float64;
constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

}  // namespace

DocumentSums::DocumentSums() : loss_(to_size(exact::num_limbs(kKind))) {}

DocumentSums::DocumentSums(const SequenceRecord& window) : DocumentSums() {
  counts_ = {window.tokens, window.right, window.in_top5, window.finite != 0 ? 0 : 1};
  if (window.finite == 0) return;
  exact::add(loss_, window.loss);
  exact::canonicalise(loss_);
}

DocumentSums::DocumentSums(std::span<const std::byte> bytes) : DocumentSums() {
  std::memcpy(&counts_, bytes.data(), sizeof counts_);
  const auto limbs = std::as_writable_bytes(std::span(loss_));
  std::ranges::copy(bytes.subspan(sizeof counts_), limbs.begin());
}

void DocumentSums::add(const DocumentSums& other) {
  counts_.tokens += other.counts_.tokens;
  counts_.right += other.counts_.right;
  counts_.in_top5 += other.counts_.in_top5;
  counts_.not_finite += other.counts_.not_finite;
  for (std::size_t i = 0; i < loss_.size(); ++i) loss_[i] += other.loss_[i];
  exact::canonicalise(loss_);
}

void DocumentSums::pack(std::vector<std::byte>& bytes) const {
  append_value(bytes, counts_);
  const auto limbs = std::as_bytes(std::span(loss_));
  bytes.insert(bytes.end(), limbs.begin(), limbs.end());
}

double DocumentSums::loss() const { return finite() ? exact::value(loss_, kKind) : kNoLoss; }

metrics::LanguageModelRecord row_of(const Document& document, const DocumentSums& sums) {
  return {.index = checked_cast<std::uint64_t>(document.unit),
          .tokens = sums.tokens(),
          .right = sums.right(),
          .in_top5 = sums.in_top5(),
          .loss = sums.loss(),
          .bytes = document.bytes,
          .words = document.words,
          .finite = sums.finite(),
          .whole = document.whole};
}

std::vector<predictions::ColumnSpec> document_columns() {
  return {{"bytes", DType::i64, {}},        {"correct", DType::i64, {}},
          {"correct_top5", DType::i64, {}}, {"id", DType::u8, {}, true},
          {"index", DType::i64, {}},        {"loss", DType::f64, {}},
          {"nll", DType::f64, {}},          {"tokens", DType::i64, {}}};
}

void append_document(const Document& document, const DocumentSums& sums,
                     predictions::RecordBatch& records) {
  const std::size_t num_columns = document_columns().size();
  records.columns.resize(num_columns);
  records.lengths.resize(num_columns);
  const double mean =
      sums.tokens() > 0 ? sums.loss() / static_cast<double>(sums.tokens()) : kNoLoss;
  std::size_t c = 0;
  append_value(records.columns[c++], document.whole ? document.bytes : -1);
  append_value(records.columns[c++], sums.right());
  append_value(records.columns[c++], sums.in_top5());
  append_text(document.id, c++, records);
  append_value(records.columns[c++], document.unit);
  append_value(records.columns[c++], mean);
  append_value(records.columns[c++], sums.loss());
  append_value(records.columns[c++], sums.tokens());
  ++records.num_rows;
}

}  // namespace tally::tasks
