// SPDX-License-Identifier: Apache-2.0
#include <tally/data/multiple_choice_tables.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "schema/allowed_values.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"

namespace tally::data {

Choices read_choices(DataSet& data_set, std::int64_t first, std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  Choices choices;
  choices.first_choice = read_offsets(data_set, info.table("/units/first_choice"),
                                      info.columns.inputs.front(), first, count);
  choices.gold = read_column<std::int64_t>(data_set, info.table("/units/gold"), first, count);
  for (std::size_t i = 0; i < choices.gold.size(); ++i) {
    const std::int64_t question = first + static_cast<std::int64_t>(i);
    const std::int64_t num = choices.first_choice[i + 1] - choices.first_choice[i];
    if (num < 1) {
      throw_dataset_error(info.path, format("/units/first_choice[{}]", question + 1),
                          format("= {}, which leaves question {} without a choice (read)",
                                 choices.first_choice[i + 1], question));
    }
    if (choices.gold[i] >= num) {
      throw_dataset_error(
          info.path, format("/units/gold[{}]", question),
          format("= {}, but the question has {} choices (read)", choices.gold[i], num));
    }
  }
  return choices;
}

RaggedRows read_choice_texts(DataSet& data_set, const Choices& choices) {
  const std::int64_t first = choices.first_choice.front();
  return read_ragged(data_set, "/choices/text", first, choices.first_choice.back() - first);
}

namespace {

using hdf5::Element;

constexpr std::array kChoiceTargets{
    TargetRule{"choice", Element::i32},
    TargetRule{"unit", Element::i64},
};
constexpr std::array kChoiceTables{
    TableRule{"/units/gold", Element::i64, 0, "", 0},
    TableRule{"/units/id/offsets", Element::i64, 0, "/units/gold", 1},
    TableRule{"/units/id/values", Element::u8, 0, "", 0},
    TableRule{"/units/question/offsets", Element::i64, 0, "/units/gold", 1},
    TableRule{"/units/question/values", Element::u8, 0, "", 0},
    TableRule{"/units/first_choice", Element::i64, 0, "/units/gold", 1},
    TableRule{"/choices/text/offsets", Element::i64, 0, kSamples, 1},
    TableRule{"/choices/text/values", Element::u8, 0, "", 0},
};

void set_choice_ranges(DataSetInfo& info) {
  set_range(info, "/targets/choice", info.num_samples - 1);
  set_range(info, "/units/gold", info.num_samples - 1);
  set_range(info, "/units/first_choice", info.num_samples);
}

std::vector<std::string> describe_choices(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  ValueRange num{std::numeric_limits<std::int64_t>::max(), 0}, gold = num;
  const auto widen = [](ValueRange& range, std::int64_t value) {
    range = {std::min(range.least, value), std::max(range.most, value)};
  };
  for_each_run(info.num_units, [&](std::int64_t first, std::int64_t count) {
    const Choices choices = read_choices(data_set, first, count);
    for (std::size_t i = 0; i < choices.gold.size(); ++i) {
      widen(num, choices.first_choice[i + 1] - choices.first_choice[i]);
      widen(gold, choices.gold[i]);
    }
  });
  return {format("{} of {} choices; the right one is {}", counted(info), range_text(num),
                 range_text(gold))};
}

// Samples are the choices of their questions, in order.
void check_choices(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  for_each_run(info.num_samples, [&](std::int64_t first, std::int64_t count) {
    const auto units = read_column<std::int64_t>(data_set, info.target("unit"), first, count);
    const auto which = read_column<std::int32_t>(data_set, info.target("choice"), first, count);
    const Choices choices = read_choices(data_set, units.front(), units.back() - units.front() + 1);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const std::int64_t sample = first + static_cast<std::int64_t>(i);
      const std::int64_t begin = choices.first_choice[to_size(units[i] - units.front())];
      if (begin + which[i] == sample) continue;
      throw_dataset_error(info.path, format("/targets/choice[{}]", sample),
                          format("= {} of question {}, whose choices begin with sample {} (read)",
                                 which[i], units[i], begin));
    }
  });
}

}  // namespace

const TaskRules& multiple_choice_rules() {
  static constexpr TaskRules kRules{.num_classes = kAnyClasses,
                                    .label = LabelShape::sequence,
                                    .ignore_index = kAnyInt64,
                                    .targets = kChoiceTargets,
                                    .tables = kChoiceTables,
                                    .set_ranges = set_choice_ranges,
                                    .describe_tables = describe_choices,
                                    .check_tables = check_choices};
  return kRules;
}

}  // namespace tally::data
