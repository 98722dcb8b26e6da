// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"
#include "schema/allowed_values.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

constexpr std::array kSpanTargets{
    TargetRule{"context_begin", Element::i32},
    TargetRule{"context_end", Element::i32},
    TargetRule{"token_begin", Element::i32},
    TargetRule{"unit", Element::i64},
};
constexpr std::array kSpanTables{
    TableRule{"/units/paragraph", Element::i64, 0, "", 0},
    TableRule{"/units/id/offsets", Element::i64, 0, "/units/paragraph", 1},
    TableRule{"/units/id/values", Element::u8, 0, "", 0},
    TableRule{"/units/question/offsets", Element::i64, 0, "/units/paragraph", 1},
    TableRule{"/units/question/values", Element::u8, 0, "", 0},
    TableRule{"/units/first_answer", Element::i64, 0, "/units/paragraph", 1},
    TableRule{"/answers/text/offsets", Element::i64, 0, "", 0},
    TableRule{"/answers/text/values", Element::u8, 0, "", 0},
    TableRule{"/paragraphs/text/offsets", Element::i64, 0, "", 0},
    TableRule{"/paragraphs/text/values", Element::u8, 0, "", 0},
    TableRule{"/paragraphs/tokens/offsets", Element::i64, 0, "/paragraphs/text/offsets", 0},
    TableRule{"/paragraphs/tokens/values", Element::i32, 2, "", 0},
};

void set_question_ranges(DataSetInfo& info) {
  const auto rows = [&](std::string_view table) { return info.table(table).num_rows; };
  const std::int64_t tokens_of_row = info.columns.lengths ? info.columns.lengths->range->most : 0;
  set_range(info, "/targets/context_begin", tokens_of_row);
  set_range(info, "/targets/context_end", tokens_of_row);
  for (ColumnInfo& column : info.columns.targets)
    column.is_in_sequence = column.name == "context_end";
  set_range(info, "/targets/token_begin", rows("/paragraphs/tokens/values"));
  set_range(info, "/units/paragraph", rows("/paragraphs/text/offsets") - 2);
  set_range(info, "/units/first_answer", rows("/answers/text/offsets") - 1);
}

std::vector<std::string> describe_questions(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  const auto rows_of = [&](std::string_view ragged) {
    return info.table(format("{}/offsets", ragged)).num_rows - 1;
  };
  return {format("{} on {} paragraphs, {} true answers{}", counted(info),
                 rows_of("/paragraphs/text"), rows_of("/answers/text"),
                 info.no_answer ? "; a question may have none" : "")};
}

[[noreturn]] void refuse(const DataSetInfo& info, const char* table, std::int64_t row,
                         std::int64_t value, std::string_view expected) {
  throw_dataset_error(info.path, format("{}[{}]", table, row),
                      format("= {}, expected {} (read)", value, expected));
}

// Questions ascend by their paragraphs, and their answers follow one another, all of them.
void check_questions(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  constexpr const char* kParagraph = "/units/paragraph";
  constexpr const char* kFirst = "/units/first_answer";
  const std::int64_t least = info.no_answer ? 0 : 1;  // answers of a question
  std::int64_t paragraph = 0, answer = -least;
  const auto check_answer = [&](std::int64_t unit, std::int64_t found) {
    if (unit == 0 && found != 0) refuse(info, kFirst, 0, found, "0");
    if (found < answer + least) {
      refuse(info, kFirst, unit, found, format("{} or more", answer + least));
    }
    answer = found;
  };
  for_each_run(info.num_units, [&](std::int64_t first, std::int64_t count) {
    const auto read = [&](const char* table) {
      return read_column<std::int64_t>(data_set, info.table(table), first, count);
    };
    const auto paragraphs = read(kParagraph), answers = read(kFirst);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const std::int64_t unit = first + static_cast<std::int64_t>(i);
      if (paragraphs[i] < paragraph) {
        refuse(info, kParagraph, unit, paragraphs[i], format("{} or more", paragraph));
      }
      paragraph = paragraphs[i];
      check_answer(unit, answers[i]);
    }
  });
  check_answer(info.num_units,
               read_column<std::int64_t>(data_set, info.table(kFirst), info.num_units, 1).front());
  const std::int64_t num_answers = info.table("/answers/text/offsets").num_rows - 1;
  if (answer != num_answers) {
    refuse(info, kFirst, info.num_units, answer, format("{}, the number of answers", num_answers));
  }
}

}  // namespace

const TaskRules& question_answering_rules() {
  static constexpr TaskRules kRules{.targets = kSpanTargets,
                                    .tables = kSpanTables,
                                    .needs_lengths = true,
                                    .set_ranges = set_question_ranges,
                                    .describe_tables = describe_questions,
                                    .check_tables = check_questions};
  return kRules;
}

}  // namespace tally::data
