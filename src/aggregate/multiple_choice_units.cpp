// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/multiple_choice_units.hpp>

#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>
#include <tally/data/multiple_choice_tables.hpp>

namespace tally::app {

using predictions::RecordBatch;
using predictions::SavedRows;

namespace {

using Records = MultipleChoiceUnits::Partial;

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
    if (choice.position == choice.index - begin) continue;
    throw Error(ErrorKind::dataset,
                format("/targets/choice[{}] = {}, expected {} in question {}", choice.index,
                       choice.position, choice.index - begin, part.unit),
                kPrepareAgain);
  }
}

// Of one question: its choices are the samples from `first` on.
Records records_of(std::span<const double> likelihoods, std::int64_t unit, std::int64_t first) {
  Records records;
  for (std::size_t i = 0; i < likelihoods.size(); ++i) {
    const auto choice = static_cast<std::int64_t>(i);
    records.push_back({.index = first + choice,
                       .unit = unit,
                       .position = choice,
                       .loss = 0.0 - likelihoods[i],  // the sign of NaN, too
                       .finite = std::isfinite(likelihoods[i]) ? 1 : 0});
  }
  return records;
}

}  // namespace

std::vector<UnitSample<Records>> MultipleChoiceUnits::samples_in(const RecordBatch& window) {
  std::vector<UnitSample<Records>> samples;
  for (const tasks::SequenceRecord& record : tasks::sequences_in(window.columns.at(0))) {
    samples.push_back({record.index, record.finite != 0, {record.unit, {record}}});
  }
  return samples;
}

void MultipleChoiceUnits::merge(const Records& more, Records& found) {
  found.insert(found.end(), more.begin(), more.end());
}

void MultipleChoiceUnits::pack(const Records& found, std::vector<std::byte>& bytes) {
  for (const tasks::SequenceRecord& record : found) append_record(record, bytes);
}

Records MultipleChoiceUnits::unpack(std::span<const std::byte> bytes) {
  const std::vector<std::byte> aligned(bytes.begin(), bytes.end());
  const auto records = tasks::sequences_in(aligned);
  return {records.begin(), records.end()};
}

void MultipleChoiceUnits::score(std::span<const UnitPart<Records>> parts, std::int64_t cut,
                                predictions::PredictionLog& log,
                                predictions::PredictionLog& retained) {
  auto& set = *session_.data.set;
  const std::int64_t first = parts.front().unit;
  const auto ids = data::read_ragged(set, "/units/id", first, std::ssize(parts));
  const auto choices = data::read_choices(set, first, std::ssize(parts));
  const auto texts = data::read_choice_texts(set, choices);
  RecordBatch records, rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [unit, found] = parts[i];
    const std::int64_t begin = choices.first_choice[i];
    check_choices(parts[i], begin, choices.first_choice[i + 1], unit == cut);
    tasks::MultipleChoiceQuestion question{.unit = unit,
                                           .id = ids.text(static_cast<std::int64_t>(i)),
                                           .gold = choices.gold[i],
                                           .texts = {},
                                           .whole = unit != cut};
    for (const tasks::SequenceRecord& choice : found) {
      question.texts.push_back(texts.text(choice.index - choices.first_choice.front()));
    }
    const tasks::Chosen chosen = choose(question, found);
    const metrics::MultipleChoiceRecord row = row_of(question, chosen);
    task_.count({&row, 1}, state_);
    task_.retain(row, rows);
    if (!log.columns().empty()) append_question(question, chosen, records);
  }
  if (rows.num_rows > 0) retained.append(rows);
  if (records.num_rows > 0) log.append(records);
}

bool MultipleChoiceUnits::is_finite(const Records& found) {
  return std::ranges::all_of(found, [](const auto& choice) { return choice.finite != 0; });
}

SavedUnits<Records> MultipleChoiceUnits::read_saved(const SavedRows& saved, data::DataSet& set,
                                                    plan::SampleRange units) {
  const auto labels = saved.read_each<std::int64_t>("label", units.first, units.count);
  const auto lengths = saved.lengths("log_likelihood", units.first, units.count);
  const auto known = data::read_choices(set, units.first, units.count);
  SavedUnits<Records> found;
  for (std::size_t i = 0; i < to_size(units.count); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const std::int64_t num_choices = known.first_choice[i + 1] - known.first_choice[i];
    const bool is_cut = labels[i] < 0;
    if (is_cut) found.cut = cut_unit(saved, unit);
    const bool fit = is_cut ? 0 < lengths[i] && lengths[i] < num_choices
                            : lengths[i] == num_choices && labels[i] == known.gold[i];
    if (fit) continue;
    throw_saved_units_error(
        saved,
        format("row {} is of {} choices, of which {} is right, question {} has {} and {}", unit,
               lengths[i], labels[i], unit, num_choices, known.gold[i]),
        kNameOtherData);
  }
  const auto values = saved.elements<double>("log_likelihood", units.first, units.count);
  std::span<const double> rest(values);
  for (std::size_t i = 0; i < to_size(units.count); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const auto of_unit = rest.first(to_size(lengths[i]));
    found.parts.push_back({unit, records_of(of_unit, unit, known.first_choice[i])});
    rest = rest.subspan(of_unit.size());
  }
  return found;
}

}  // namespace tally::app
