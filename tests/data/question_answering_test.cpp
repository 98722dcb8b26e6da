// SPDX-License-Identifier: Apache-2.0
// Data sets of question answering: what is read of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include <tally/base/checked_cast.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/column_values.hpp>
#include <tally/data/describe_data_set.hpp>

#include "expect_error.hpp"
#include "question_file.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"
#include "spoil.hpp"

namespace tally::data {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Questions : public testing::Test {
 protected:
  DataSet open(const QuestionFile& file) {
    const auto path = folder_ / std::to_string(next_++);
    file.write(path);
    return DataSet(path);
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

std::vector<std::string> texts_of(const RaggedRows& rows) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < rows.num_rows(); ++i) texts.emplace_back(rows.text(i));
  return texts;
}

template <class T>
std::vector<T> column_of(DataSet& data_set, const ColumnInfo& column) {
  const auto bytes = rows_of(data_set, column, 0, column.num_rows);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(Questions, AreDescribedByTheirColumnsAndTables) {
  const DataSet data_set = open({.padding = 7});
  const DataSetInfo& info = data_set.info();
  EXPECT_EQ(info.task, "question-answering");
  EXPECT_EQ(info.num_samples, 5);
  EXPECT_EQ(info.num_units, 3);
  EXPECT_EQ(info.num_classes, 0);
  EXPECT_TRUE(info.no_answer);
  EXPECT_FALSE(info.checksums.columns);
  std::vector<std::string> names;
  for (const ColumnInfo& column : info.columns.targets) names.push_back(column.name);
  EXPECT_THAT(names, ElementsAre("context_begin", "context_end", "token_begin", "unit"));
  ASSERT_EQ(info.columns.inputs.size(), 3U);
  EXPECT_EQ(info.columns.inputs[0].padding, 0);
  EXPECT_EQ(info.columns.inputs[1].name, "input_ids");
  EXPECT_EQ(info.columns.inputs[1].padding, 7);
  EXPECT_EQ(info.columns.inputs[2].padding, 0);
  ASSERT_TRUE(info.columns.lengths);
  EXPECT_EQ(info.columns.lengths->num_rows, 5);
  EXPECT_EQ(info.tables.size(), 12U);
  EXPECT_EQ(info.table("/units/id/offsets").num_rows, 4);
  EXPECT_EQ(info.table("/paragraphs/tokens/values").row_shape, Shape{2});
  expect_error(ErrorKind::internal, {"/units/name is no table"},
               [&] { std::ignore = info.table("/units/name"); });
  EXPECT_EQ(info.target("unit").path, "/targets/unit");
  expect_error(ErrorKind::internal, {"choice is no target"},
               [&] { std::ignore = info.target("choice"); });
}

TEST_F(Questions, KnowTheRangesOfTheirPlaces) {
  const DataSet data_set = open({});
  const DataSetInfo& info = data_set.info();
  const auto expect_range = [](const ColumnInfo& column, std::int64_t least, std::int64_t most) {
    ASSERT_TRUE(column.range) << column.path;
    EXPECT_EQ(column.range->least, least) << column.path;
    EXPECT_EQ(column.range->most, most) << column.path;
  };
  expect_range(*info.columns.lengths, 1, 12);
  expect_range(info.columns.targets[0], 0, 12);
  expect_range(info.columns.targets[1], 0, 12);
  expect_range(info.columns.targets[2], 0, 11);  // tokens of all paragraphs
  expect_range(info.columns.targets[3], 0, 2);
  expect_range(info.table("/units/paragraph"), 0, 2);
  expect_range(info.table("/units/first_answer"), 0, 3);
  EXPECT_FALSE(info.table("/answers/text/offsets").range);
}

TEST_F(Questions, MayAllHaveAnswers) {
  EXPECT_FALSE(open({.no_answer = false}).info().no_answer);
  const auto path = folder_ / "old";
  QuestionFile().write(path);
  raw::edit(path, [](hid_t file) { raw::remove_attribute(file, "/", "no_answer"); });
  EXPECT_FALSE(DataSet(path).info().no_answer);
}

TEST_F(Questions, HaveTexts) {
  for (const std::int64_t rows_per_block : {0, 1, 2, 64}) {
    const QuestionFile file{.rows_per_block = rows_per_block};
    DataSet data_set = open(file);
    EXPECT_EQ(data_set.info().checksums.columns, rows_per_block > 0);
    const auto read = [&](std::string_view path, std::int64_t first, std::int64_t count) {
      return texts_of(read_ragged(data_set, path, first, count));
    };
    EXPECT_EQ(read("/units/id", 0, 3), file.ids);
    EXPECT_EQ(read("/units/question", 0, 3), file.questions);
    EXPECT_EQ(read("/answers/text", 0, 3), file.answers);
    EXPECT_EQ(read("/paragraphs/text", 0, 3), file.contexts);
    EXPECT_THAT(read("/units/id", 1, 2), ElementsAre("56bf", "Ω-3"));
    EXPECT_THAT(read("/answers/text", 1, 1), ElementsAre("Tokyo"));
    EXPECT_THAT(read("/units/question", 2, 1), ElementsAre(""));
    for (const std::int64_t first : {0, 2, 3}) {
      EXPECT_THAT(read("/answers/text", first, 0), ElementsAre());
    }
  }
}

TEST_F(Questions, HaveTokensOfTheirParagraphs) {
  const QuestionFile file;
  DataSet data_set = open(file);
  const RaggedRows rows = read_ragged(data_set, "/paragraphs/tokens", 1, 2);
  ASSERT_EQ(rows.num_rows(), 2);
  for (const std::int64_t row : {0, 1}) {
    const auto tokens = QuestionFile::tokens(file.contexts.at(to_size(row + 1)));
    EXPECT_TRUE(std::ranges::equal(rows.row(row), std::as_bytes(std::span(tokens)))) << row;
  }
}

TEST_F(Questions, OfAllHaveNoAnswerAtAll) {
  QuestionFile file;
  file.answers.clear();
  file.first_answers.assign(4, 0);
  for (const std::int64_t rows_per_block : {0, 2}) {
    file.rows_per_block = rows_per_block;
    DataSet data_set = open(file);
    EXPECT_EQ(read_ragged(data_set, "/answers/text", 0, 0).num_rows(), 0);
    EXPECT_THAT(verify(data_set), HasSubstr("all 5 rows read"));
    EXPECT_EQ(data_set.identity().size(), 64U);
  }
}

TEST(QuestionTables, AgreeWhereAllIsRead) {
  const auto refused = [](const std::string& message, const auto& change) {
    const raw::TemporaryFolder folder;
    QuestionFile file;
    change(file);
    file.write(folder / "a.h5");
    DataSet data_set(folder / "a.h5");
    expect_error(ErrorKind::dataset, {message + " (read)"}, [&] { verify(data_set); });
  };
  refused("/targets/context_end[2] = 9, but the sample's length is 8",
          [](QuestionFile& f) { f.windows[2].context_end = 9; });
  refused("/units/paragraph[2] = 0, expected 2 or more", [](QuestionFile& f) {
    f.paragraphs = {0, 2, 0};
  });
  refused("/units/first_answer[0] = 1, expected 0", [](QuestionFile& f) {
    f.first_answers = {1, 2, 2, 3};
  });
  refused("/units/first_answer[2] = 1, expected 2 or more", [](QuestionFile& f) {
    f.first_answers = {0, 2, 1, 3};
  });
  refused("/units/first_answer[3] = 2, expected 3, the number of answers", [](QuestionFile& f) {
    f.first_answers = {0, 1, 2, 2};
  });
  refused("/units/first_answer[2] = 2, expected 3 or more",
          [](QuestionFile& f) { f.no_answer = false; });
}

// Each change leaves the file as large as it was.
const std::vector<std::function<void(QuestionFile&)>> kChanges{
    [](QuestionFile& f) { f.padding = 9; },
    [](QuestionFile& f) { f.no_answer = false; },
    [](QuestionFile& f) { f.windows[4].length = 6; },
    [](QuestionFile& f) { f.windows[0].token_begin = 1; },
    [](QuestionFile& f) {
      f.ids = {"56be5", "6bf", "Ω-3"};
    },
    [](QuestionFile& f) { f.questions[1] = "With wham?"; },
    [](QuestionFile& f) { f.paragraphs[1] = 1; },
    [](QuestionFile& f) { f.first_answers[2] = 3; },
    [](QuestionFile& f) { f.answers[1] = "Tokio"; },
    [](QuestionFile& f) { f.contexts[1] = "Dogs burk"; },
    [](QuestionFile& f) { f.contexts[1] = "Dog sbark"; }};

TEST_F(Questions, CountForTheIdentity) {
  for (const std::int64_t rows_per_block : {0, 2}) {
    const QuestionFile good{.rows_per_block = rows_per_block};
    EXPECT_EQ(open(good).identity(), open(good).identity());
    std::set<std::string> identities{open(good).identity()};
    for (std::size_t i = 0; i < kChanges.size(); ++i) {
      QuestionFile changed = good;
      kChanges[i](changed);
      EXPECT_TRUE(identities.insert(open(changed).identity()).second) << "change " << i;
    }
  }
}

TEST_F(Questions, CountForTheIdentityWithoutChecksumsToo) {
  const DataSet good = open({});
  auto columns = good.info().columns.targets;
  columns.insert(columns.end(), good.info().tables.begin(), good.info().tables.end());
  columns.push_back(*good.info().columns.lengths);
  ASSERT_EQ(columns.size(), 17U);
  for (const ColumnInfo& column : columns) {
    const auto path = open({}).info().path;
    spoil(path, column);
    EXPECT_NE(DataSet(path).identity(), good.identity()) << column.path;
  }
}

TEST_F(Questions, AreDescribedForPeople) {
  DataSet data_set = open({.rows_per_block = 4});
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(HasSubstr("task question-answering, 5 samples, 3 questions")));
  EXPECT_THAT(lines, Contains(HasSubstr("  /paragraphs/tokens/values  int32 [11, 2]")));
  EXPECT_THAT(lines, Contains(HasSubstr("  /lengths  int32 [5]")));
  EXPECT_THAT(lines, Contains(HasSubstr("20 of 20 columns have checksums")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("not used"))));
  EXPECT_THAT(lines, Not(Contains(testing::StartsWith("attribute"))));
  EXPECT_THAT(verify(data_set), HasSubstr("all 5 rows read"));
}

TEST_F(Questions, AreStagedRowByRow) {
  for (const std::int64_t rows_per_block : {0, 2}) {
    const QuestionFile file{.rows_per_block = rows_per_block};
    DataSet data_set = open(file);
    const std::int64_t row_bytes = 12 * (4 + 1 + 1) + 4 + 8 + 3 * 4;
    EXPECT_EQ(data_set.staged_bytes({2, 2}), 2 * row_bytes);
    EXPECT_EQ(data_set.stage({2, 2}, folder_.path()), 2 * row_bytes);
    EXPECT_EQ(column_of<std::int32_t>(data_set, data_set.info().columns.inputs[1]),
              file.input_ids());
    EXPECT_THAT(column_of<std::int32_t>(data_set, *data_set.info().columns.lengths),
                ElementsAre(9, 9, 8, 11, 5));
    EXPECT_THAT(column_of<std::int64_t>(data_set, data_set.info().columns.targets[3]),
                ElementsAre(0, 0, 0, 1, 2));
    EXPECT_EQ(texts_of(read_ragged(data_set, "/units/id", 0, 3)), file.ids);
    EXPECT_EQ(texts_of(read_ragged(data_set, "/paragraphs/text", 0, 3)), file.contexts);
  }
}

TEST_F(Questions, GetChecksums) {
  QuestionFile file;
  for (const char* name : {"some", "none"}) {
    if (std::string(name) == "none") {
      file.answers.clear();
      file.first_answers.assign(4, 0);
    }
    file.write(folder_ / name);
    const auto copy_path = folder_ / (std::string(name) + " checked");
    add_checksums(folder_ / name, copy_path);
    DataSet copy(copy_path);
    EXPECT_TRUE(copy.info().checksums.columns);
    EXPECT_THAT(verify(copy), HasSubstr("blocks match their checksums"));
    EXPECT_EQ(texts_of(read_ragged(copy, "/answers/text", 0, std::ssize(file.answers))),
              file.answers);
    EXPECT_EQ(copy.info().table("/units/paragraph").rows_per_checksum, 64);
  }
}

TEST_F(Questions, DamagedTextsAreFound) {
  const QuestionFile file{.rows_per_block = 8};
  const DataSetInfo info = open(file).info();
  spoil(info.path, info.table("/answers/text/values"));
  DataSet damaged(info.path);
  expect_error(ErrorKind::dataset, {"/answers/text/values rows 8..14", "damaged"},
               [&] { read_ragged(damaged, "/answers/text", 2, 1); });
  EXPECT_NO_THROW(read_ragged(damaged, "/answers/text", 0, 1));
  expect_error(ErrorKind::dataset, {"/answers/text/values rows 8..14"}, [&] { verify(damaged); });
}

}  // namespace
}  // namespace tally::data
