// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/document_and_choice_units.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/choices_and_objects.hpp>
#include <tally/data/column_values.hpp>

namespace tally::app {

using predictions::RecordBatch;

std::vector<UnitSample<tasks::DocumentSums>> Documents::samples_in(const RecordBatch& window) {
  std::vector<UnitSample<Partial>> samples;
  for (const tasks::SequenceRecord& record : tasks::sequences_in(window.columns.at(0))) {
    samples.push_back({record.index, record.finite != 0, {record.unit, Partial(record)}});
  }
  return samples;
}

void Documents::score(std::span<const UnitPart<Partial>> parts, std::int64_t cut,
                      predictions::PredictionLog& log, predictions::PredictionLog& retained) {
  auto& set = *session_.data.set;
  const std::int64_t first = parts.front().unit;
  const auto ids = data::read_ragged(set, "/units/id", first, std::ssize(parts));
  const auto read = [&](std::string_view table) {
    return data::read_column<std::int64_t>(set, set.info().table(table), first, std::ssize(parts));
  };
  const auto bytes = read("/units/bytes"), words = read("/units/words");
  RecordBatch records, rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [unit, sums] = parts[i];
    const tasks::Document document{.unit = unit,
                                   .id = ids.text(static_cast<std::int64_t>(i)),
                                   .bytes = bytes[i],
                                   .words = words[i],
                                   .whole = unit != cut};
    const metrics::LanguageModelRecord row = row_of(document, sums);
    task_.count({&row, 1}, state_);
    task_.retain(row, rows);
    if (!log.columns().empty()) append_document(document, sums, records);
  }
  if (rows.num_rows > 0) retained.append(rows);
  if (records.num_rows > 0) log.append(records);
}

namespace {

using Records = std::vector<tasks::SequenceRecord>;
using predictions::RecordBatch;

// The question whose choices are the samples [begin, end).
void check_choices(const UnitPart<Records>& part, std::int64_t begin, std::int64_t end,
                   bool is_cut) {
  constexpr const char* kPrepareAgain = "Prepare the data set again (data_tools/SCHEMA.md).";
  const std::int64_t first = part.found.front().index, behind = part.found.back().index + 1;
  if (first != begin || (is_cut ? behind >= end : behind != end)) {
    throw Error(ErrorKind::dataset,
                format("question {} has the samples {} to {} by /targets/unit, and {} to {} by "
                       "/units/first_choice",
                       part.unit, first, behind - 1, begin, end - 1),
                kPrepareAgain);
  }
  for (const tasks::SequenceRecord& choice : part.found) {
    if (choice.choice == choice.index - begin) continue;
    throw Error(ErrorKind::dataset,
                format("/targets/choice[{}] = {}, expected {} in question {}", choice.index,
                       choice.choice, choice.index - begin, part.unit),
                kPrepareAgain);
  }
}

}  // namespace

std::vector<UnitSample<Records>> ChoiceQuestions::samples_in(const RecordBatch& window) {
  std::vector<UnitSample<Records>> samples;
  for (const tasks::SequenceRecord& record : tasks::sequences_in(window.columns.at(0))) {
    samples.push_back({record.index, record.finite != 0, {record.unit, {record}}});
  }
  return samples;
}

void ChoiceQuestions::merge(const Records& more, Records& found) {
  found.insert(found.end(), more.begin(), more.end());
}

void ChoiceQuestions::pack(const Records& found, std::vector<std::byte>& bytes) {
  for (const tasks::SequenceRecord& record : found) append_record(record, bytes);
}

Records ChoiceQuestions::unpack(std::span<const std::byte> bytes) {
  const std::vector<std::byte> aligned(bytes.begin(), bytes.end());
  const auto records = tasks::sequences_in(aligned);
  return {records.begin(), records.end()};
}

void ChoiceQuestions::score(std::span<const UnitPart<Records>> parts, std::int64_t cut,
                            predictions::PredictionLog& log, predictions::PredictionLog& retained) {
  auto& set = *session_.data.set;
  const std::int64_t first = parts.front().unit;
  const auto ids = data::read_ragged(set, "/units/id", first, std::ssize(parts));
  const auto choices = data::read_choices(set, first, std::ssize(parts));
  const std::int64_t first_text = choices.first_choice.front();
  const auto texts =
      data::read_ragged(set, "/choices/text", first_text, choices.first_choice.back() - first_text);
  RecordBatch records, rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [unit, found] = parts[i];
    const std::int64_t begin = choices.first_choice[i];
    check_choices(parts[i], begin, choices.first_choice[i + 1], unit == cut);
    tasks::ChoiceQuestion question{.unit = unit,
                                   .id = ids.text(static_cast<std::int64_t>(i)),
                                   .gold = choices.gold[i],
                                   .texts = {},
                                   .whole = unit != cut};
    for (const tasks::SequenceRecord& choice : found) {
      question.texts.push_back(texts.text(choice.index - first_text));
    }
    const tasks::Chosen chosen = choose(question, found);
    const metrics::MultipleChoiceRecord row = row_of(question, chosen);
    task_.count({&row, 1}, state_);
    task_.retain(row, rows);
    if (!log.columns().empty()) append_choice(question, chosen, records);
  }
  if (rows.num_rows > 0) retained.append(rows);
  if (records.num_rows > 0) log.append(records);
}

}  // namespace tally::app
