// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/documents_and_choices.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/exact/sum.hpp>

#include "column.hpp"

namespace tally::tasks {
namespace {

constexpr std::int32_t kTop = 5;

}  // namespace

void add_up(std::span<const metrics::TokenRecord> places, SequenceRecord& record) {
  std::vector<std::int64_t> loss(to_size(exact::num_limbs(exact::SumKind::float64)));
  for (const metrics::TokenRecord& place : places) {
    if (!place.scored) continue;
    ++record.tokens;
    if (!place.finite) {
      record.finite = 0;
      continue;
    }
    if (place.rank == 0) ++record.right;
    if (place.rank < kTop) ++record.in_top5;
    exact::add(loss, place.loss);
  }
  exact::canonicalise(loss);
  record.loss = record.finite != 0 ? exact::value(loss, exact::SumKind::float64)
                                   : std::numeric_limits<double>::quiet_NaN();
}

predictions::ColumnSpec sequence_column() {
  return {"sequence", DType::u8, {sizeof(SequenceRecord)}};
}

void append_record(const SequenceRecord& record, std::vector<std::byte>& column) {
  append_value(column, record);
}

std::span<const SequenceRecord> sequences_in(std::span<const std::byte> column) {
  return {reinterpret_cast<const SequenceRecord*>(column.data()),
          column.size() / sizeof(SequenceRecord)};
}

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

namespace {

// Code points of UTF-8: bytes that continue none.
std::int64_t num_characters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::int64_t num_bytes(std::string_view text) { return std::ssize(text); }

std::int64_t first_largest(std::span<const double> values) {
  return std::ranges::max_element(values) - values.begin();
}

template <class Length>
std::int64_t best_by(const Length& length, const ChoiceQuestion& question,
                     std::span<const double> log_likelihoods) {
  std::vector<double> values;
  for (std::size_t i = 0; i < log_likelihoods.size(); ++i) {
    const std::int64_t units = length(question.texts[i]);
    values.push_back(units == 0 ? -std::numeric_limits<double>::infinity()
                                : log_likelihoods[i] / static_cast<double>(units));
  }
  return first_largest(values);
}

}  // namespace

Chosen choose(const ChoiceQuestion& question, std::span<const SequenceRecord> choices) {
  Chosen chosen;
  for (const SequenceRecord& choice : choices) {
    chosen.log_likelihoods.push_back(0.0 - choice.loss);
    if (choice.finite == 0) chosen.finite = false;
  }
  if (!chosen.finite) return chosen;
  chosen.most_likely = first_largest(chosen.log_likelihoods);
  chosen.by_character = best_by(num_characters, question, chosen.log_likelihoods);
  chosen.by_byte = best_by(num_bytes, question, chosen.log_likelihoods);
  return chosen;
}

metrics::MultipleChoiceRecord row_of(const ChoiceQuestion& question, const Chosen& chosen) {
  return {.index = checked_cast<std::uint64_t>(question.unit),
          .ignored = !question.whole,
          .finite = chosen.finite,
          .right = chosen.most_likely == question.gold,
          .right_by_character = chosen.by_character == question.gold,
          .right_by_byte = chosen.by_byte == question.gold};
}

std::vector<predictions::ColumnSpec> choice_columns() {
  return {{"id", DType::u8, {}, true},        {"index", DType::i64, {}},
          {"label", DType::i64, {}},          {"log_likelihood", DType::f64, {}, true},
          {"prediction", DType::i64, {}},     {"prediction_bytes", DType::i64, {}},
          {"prediction_norm", DType::i64, {}}};
}

void append_choice(const ChoiceQuestion& question, const Chosen& chosen,
                   predictions::RecordBatch& records) {
  const std::size_t num_columns = choice_columns().size();
  records.columns.resize(num_columns);
  records.lengths.resize(num_columns);
  std::size_t c = 0;
  append_text(question.id, c++, records);
  append_value(records.columns[c++], question.unit);
  append_value(records.columns[c++], question.whole ? question.gold : -1);
  append_values(std::span<const double>(chosen.log_likelihoods), c++, records);
  append_value(records.columns[c++], chosen.most_likely);
  append_value(records.columns[c++], chosen.by_byte);
  append_value(records.columns[c++], chosen.by_character);
  ++records.num_rows;
}

}  // namespace tally::tasks
