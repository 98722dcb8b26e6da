// SPDX-License-Identifier: Apache-2.0
#include <tally/data/question_tables.hpp>

#include <algorithm>
#include <array>
#include <iterator>
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

constexpr const char* kParagraph = "/units/paragraph";
constexpr const char* kFirst = "/units/first_answer";

[[noreturn]] void refuse(const DataSetInfo& info, const char* table, std::int64_t row,
                         std::int64_t value, std::string_view expected) {
  throw_dataset_error(info.path, format("{}[{}]", table, row),
                      format("= {}, expected {} (read)", value, expected));
}

void check_paragraphs(const DataSetInfo& info, std::int64_t first,
                      const std::vector<std::int64_t>& paragraphs) {
  const auto wrong = std::ranges::is_sorted_until(paragraphs);
  if (wrong == paragraphs.end()) return;
  refuse(info, kParagraph, first + (wrong - paragraphs.begin()), *wrong,
         format("{} or more", *std::prev(wrong)));
}

void check_answers(const DataSetInfo& info, std::int64_t first,
                   const std::vector<std::int64_t>& first_answers) {
  const std::int64_t least = info.no_answer ? 0 : 1;  // answers of a question
  if (first == 0 && first_answers.front() != 0) refuse(info, kFirst, 0, first_answers.front(), "0");
  for (std::size_t i = 1; i < first_answers.size(); ++i) {
    const std::int64_t wanted = first_answers[i - 1] + least;
    if (first_answers[i] >= wanted) continue;
    refuse(info, kFirst, first + static_cast<std::int64_t>(i), first_answers[i],
           format("{} or more", wanted));
  }
  const std::int64_t num_answers = info.table("/answers/text/offsets").num_rows - 1;
  const std::int64_t last = first + std::ssize(first_answers) - 1;
  if (last == info.num_units && first_answers.back() != num_answers) {
    refuse(info, kFirst, last, first_answers.back(),
           format("{}, the number of answers", num_answers));
  }
}

void check_questions(DataSet& data_set) {
  for_each_run(data_set.info().num_units, [&](std::int64_t first, std::int64_t count) {
    read_questions(data_set, first, count);
  });
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

QuestionRows read_questions(DataSet& data_set, std::int64_t first, std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  const auto read = [&](const char* table, std::int64_t begin, std::int64_t rows) {
    return read_column<std::int64_t>(data_set, info.table(table), begin, rows);
  };
  // The question before is read along, as these must not be on an earlier paragraph.
  const std::int64_t before = count > 0 ? std::min<std::int64_t>(first, 1) : 0;
  QuestionRows rows{read(kParagraph, first - before, before + count),
                    read(kFirst, first, count + 1)};
  if (count == 0) return rows;
  check_paragraphs(info, first - before, rows.paragraphs);
  check_answers(info, first, rows.first_answers);
  rows.paragraphs.erase(rows.paragraphs.begin(), rows.paragraphs.begin() + before);
  return rows;
}

}  // namespace tally::data
