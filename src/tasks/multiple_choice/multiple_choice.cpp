// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/multiple_choice.hpp>

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>

#include "column.hpp"
#include "task_factories.hpp"
#include "token_task.hpp"

namespace tally::tasks {
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
std::int64_t best_by(const Length& length, const MultipleChoiceQuestion& question,
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

Chosen choose(const MultipleChoiceQuestion& question, std::span<const SequenceRecord> choices) {
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

metrics::MultipleChoiceRecord row_of(const MultipleChoiceQuestion& question, const Chosen& chosen) {
  return {.index = checked_cast<std::uint64_t>(question.unit),
          .ignored = !question.whole,
          .finite = chosen.finite,
          .right = chosen.most_likely == question.gold,
          .right_by_character = chosen.by_character == question.gold,
          .right_by_byte = chosen.by_byte == question.gold};
}

std::vector<predictions::ColumnSpec> multiple_choice_columns() {
  return {{"id", DType::u8, {}, true},        {"index", DType::i64, {}},
          {"label", DType::i64, {}},          {"log_likelihood", DType::f64, {}, true},
          {"prediction", DType::i64, {}},     {"prediction_bytes", DType::i64, {}},
          {"prediction_norm", DType::i64, {}}};
}

void append_question(const MultipleChoiceQuestion& question, const Chosen& chosen,
                     predictions::RecordBatch& records) {
  const std::size_t num_columns = multiple_choice_columns().size();
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

namespace {

struct MultipleChoiceConfig : TokenConfig {
  explicit MultipleChoiceConfig(const TaskOptions& given)
      : TokenConfig(given, multiple_choice_columns(), sizeof(metrics::MultipleChoiceRecord),
                    "choice") {}
};

}  // namespace

std::unique_ptr<Task> make_multiple_choice(const TaskOptions& options) {
  return std::make_unique<TokenTask<MultipleChoiceConfig, metrics::MultipleChoiceRecord>>(options);
}

}  // namespace tally::tasks
