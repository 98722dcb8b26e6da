// SPDX-License-Identifier: Apache-2.0
// What readers refuse in data sets of question answering.
#include <gtest/gtest.h>

#include <tally/data/column_values.hpp>
#include <tally/data/describe_data_set.hpp>

#include "change.hpp"
#include "expect_error.hpp"
#include "question_file.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

class QuestionRefusals : public testing::TestWithParam<Change> {};

TEST_P(QuestionRefusals, NameFileObjectFoundAndExpected) {
  const raw::TemporaryFolder folder;
  QuestionFile().write(folder / "val.h5");
  ASSERT_NO_THROW(DataSet(folder / "val.h5"));
  raw::edit(folder / "val.h5", GetParam().apply);

  auto parts = GetParam().message;
  parts.push_back("data set '" + (folder / "val.h5").string() + "'");
  expect_error(ErrorKind::dataset, parts, [&] { DataSet data_set(folder / "val.h5"); });
}

TEST(QuestionRefusals, NameEachDatasetThatIsMissing) {
  const raw::TemporaryFolder folder;
  QuestionFile().write(folder / "good.h5");
  const DataSet good(folder / "good.h5");
  std::vector<std::string> needed{"/lengths"};
  for (const auto* columns : {&good.info().columns.targets, &good.info().tables}) {
    for (const ColumnInfo& column : *columns) needed.push_back(column.path);
  }
  ASSERT_EQ(needed.size(), 17U);
  for (const std::string& path : needed) {
    const auto bad = folder / "bad.h5";
    std::filesystem::remove(bad);
    QuestionFile().write(bad);
    raw::edit(bad, [&](hid_t file) { raw::remove(file, path.c_str()); });
    expect_error(ErrorKind::dataset, {path + " is missing; the task question-answering needs it"},
                 [&] { DataSet data_set(bad); });
  }
}

void pad(hid_t file, const char* input) { set_int(file, input, "padding", 0); }

INSTANTIATE_TEST_SUITE_P(
    Root, QuestionRefusals,
    testing::Values(Change{"ignore_index",
                           {"has ignore_index 3, but the task question-answering scores every"},
                           [](hid_t f) { set_int(f, "/", "ignore_index", 3); }},
                    Change{"no_answer_text",
                           {"'no_answer' is string, expected one integer"},
                           [](hid_t f) { raw::text(f, "/", "no_answer", "yes"); }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    Sequences, QuestionRefusals,
    testing::Values(
        Change{"padding_of_numbers",
               {"/inputs/flag has the attribute 'padding', but its rows are no sequences"},
               [](hid_t f) {
                 raw::dataset(f, "/inputs/flag", H5T_STD_I32LE, {5}, nullptr);
                 replace(f, "/inputs/flag", H5T_STD_I32LE, {5});
                 pad(f, "/inputs/flag");
               }},
        Change{"padding_of_an_image",
               {"/inputs/image has the attribute 'padding', but its rows are no sequences"},
               [](hid_t f) {
                 raw::dataset(f, "/inputs/image", H5T_STD_U8LE, {5, 2, 2, 1}, nullptr);
                 replace(f, "/inputs/image", H5T_STD_U8LE, {5, 2, 2, 1});
                 raw::text(f, "/inputs/image", "layout", "HWC");
                 raw::text(f, "/inputs/image", "channels", "L");
                 const double one = 1;
                 raw::attribute(f, "/inputs/image", "scale", H5T_IEEE_F64LE, {}, &one);
                 set_doubles(f, "mean", {0});
                 set_doubles(f, "std", {1});
                 pad(f, "/inputs/image");
               }},
        Change{"padding_text",
               {"/inputs/input_ids", "'padding' is string, expected one integer"},
               [](hid_t f) { raw::text(f, "/inputs/input_ids", "padding", "[PAD]"); }},
        Change{"two_lengths_of_rows",
               {"/inputs/token_type_ids has sequences of 7, /inputs/attention_mask has sequences "
                "of 12"},
               [](hid_t f) {
                 replace(f, "/inputs/token_type_ids", H5T_STD_U8LE, {5, 7});
                 pad(f, "/inputs/token_type_ids");
               }},
        Change{"lengths_of_nothing",
               {"/lengths is there, but no input has the attribute 'padding'"},
               [](hid_t f) {
                 for (const char* name : {"attention_mask", "input_ids", "token_type_ids"}) {
                   const auto path = std::string("/inputs/") + name;
                   raw::remove_attribute(f, path.c_str(), "padding");
                 }
               }},
        Change{"lengths_of_int64",
               {"/lengths holds int64, expected int32"},
               [](hid_t f) { replace(f, "/lengths", H5T_STD_I64LE, {5}); }},
        Change{"lengths_of_fewer_samples",
               {"/lengths has 4 rows, but /inputs/attention_mask has 5"},
               [](hid_t f) { replace(f, "/lengths", H5T_STD_I32LE, {4}); }},
        Change{"lengths_in_columns",
               {"/lengths has shape [5, 1], expected [N]: one value per sample"},
               [](hid_t f) {
                 replace(f, "/lengths", H5T_STD_I32LE, {5, 1});
               }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    Targets, QuestionRefusals,
    testing::Values(Change{"units_of_int32",
                           {"/targets/unit holds int32, expected int64"},
                           [](hid_t f) { replace(f, "/targets/unit", H5T_STD_I32LE, {5}); }},
                    Change{"places_of_int64",
                           {"/targets/context_end holds int64, expected int32"},
                           [](hid_t f) { replace(f, "/targets/context_end", H5T_STD_I64LE, {5}); }},
                    Change{"units_of_more_samples",
                           {"/targets/unit has 6 rows, but /inputs/attention_mask has 5"},
                           [](hid_t f) { replace(f, "/targets/unit", H5T_STD_I64LE, {6}); }},
                    Change{"tokens_begin_in_columns",
                           {"/targets/token_begin has shape [5, 2], expected [N]"},
                           [](hid_t f) {
                             replace(f, "/targets/token_begin", H5T_STD_I32LE, {5, 2});
                           }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    Tables, QuestionRefusals,
    testing::Values(
        Change{"paragraphs_of_int32",
               {"/units/paragraph holds int32, expected int64"},
               [](hid_t f) { replace(f, "/units/paragraph", H5T_STD_I32LE, {3}); }},
        Change{"texts_of_int8",
               {"/answers/text/values holds int8, expected uint8"},
               [](hid_t f) { replace(f, "/answers/text/values", H5T_STD_I8LE, {15}); }},
        Change{"ids_missing",
               {"/units/id/offsets has shape [3], expected [4]"},
               [](hid_t f) { replace(f, "/units/id/offsets", H5T_STD_I64LE, {3}); }},
        Change{"first_answers_without_the_end",
               {"/units/first_answer has shape [3], expected [4]"},
               [](hid_t f) { replace(f, "/units/first_answer", H5T_STD_I64LE, {3}); }},
        Change{"tokens_of_fewer_paragraphs",
               {"/paragraphs/tokens/offsets has shape [3], expected [4]"},
               [](hid_t f) { replace(f, "/paragraphs/tokens/offsets", H5T_STD_I64LE, {3}); }},
        Change{"tokens_of_three_numbers",
               {"/paragraphs/tokens/values has shape [11, 3], expected [11, 2]"},
               [](hid_t f) {
                 replace(f, "/paragraphs/tokens/values", H5T_STD_I32LE, {11, 3});
               }},
        Change{"tokens_of_one_number",
               {"/paragraphs/tokens/values has shape [22], expected [22, 2]"},
               [](hid_t f) { replace(f, "/paragraphs/tokens/values", H5T_STD_I32LE, {22}); }},
        Change{"texts_in_columns",
               {"/paragraphs/text/values has shape [5, 2], expected [5]"},
               [](hid_t f) {
                 replace(f, "/paragraphs/text/values", H5T_STD_U8LE, {5, 2});
               }},
        Change{"a_number_for_a_table",
               {"/units/paragraph has shape [], expected [1]"},
               [](hid_t f) { replace(f, "/units/paragraph", H5T_STD_I64LE, {}); }},
        Change{"no_questions",
               {"/units/paragraph has no rows: there are 0 questions"},
               [](hid_t f) {
                 replace(f, "/units/paragraph", H5T_STD_I64LE, {0});
                 replace(f, "/units/id/offsets", H5T_STD_I64LE, {1});
                 replace(f, "/units/question/offsets", H5T_STD_I64LE, {1});
                 replace(f, "/units/first_answer", H5T_STD_I64LE, {1});
               }},
        Change{"table_of_checksums_too_short",
               {"/checksums/units/paragraph has shape [1], expected [3]"},
               [](hid_t f) {
                 const std::uint32_t crc = 0;
                 raw::dataset(f, "/checksums/units/paragraph", H5T_STD_U32LE, {1}, &crc);
                 set_int(f, "/checksums/units/paragraph", "rows_per_block", 1);
               }}),
    change_name);

struct WrongValue {
  const char* name;
  std::string column, message;
  std::function<void(QuestionFile&)> apply;
};

std::ostream& operator<<(std::ostream& out, const WrongValue& wrong) { return out << wrong.name; }

class QuestionValues : public testing::TestWithParam<WrongValue> {};

const ColumnInfo& column_of(const DataSetInfo& info, const std::string& path) {
  if (path == "/lengths") return *info.columns.lengths;
  const auto& columns = path.starts_with("/targets") ? info.columns.targets : info.tables;
  return *std::ranges::find(columns, path, &ColumnInfo::path);
}

TEST_P(QuestionValues, AreRefusedWhereTheyAreRead) {
  const raw::TemporaryFolder folder;
  QuestionFile file;
  GetParam().apply(file);
  file.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const ColumnInfo& column = column_of(data_set.info(), GetParam().column);
  const auto read = [&] { rows_of(data_set, column, 1, column.num_rows - 1); };
  expect_error(ErrorKind::dataset, {GetParam().column + GetParam().message + " (read)"}, read);
  expect_error(ErrorKind::dataset, {GetParam().column + GetParam().message},
               [&] { verify(data_set); });
  EXPECT_NO_THROW(rows_of(data_set, column, 0, 1));
}

INSTANTIATE_TEST_SUITE_P(
    All, QuestionValues,
    testing::Values(
        WrongValue{"no_length", "/lengths", "[2] = 0, expected 1 to 12",
                   [](QuestionFile& f) { f.windows[2].length = 0; }},
        WrongValue{"longer_than_the_row", "/lengths", "[4] = 13, expected 1 to 12",
                   [](QuestionFile& f) { f.windows[4].length = 13; }},
        WrongValue{"question_4", "/targets/unit", "[4] = 3, expected 0 to 2",
                   [](QuestionFile& f) { f.windows[4].unit = 3; }},
        WrongValue{"question_below_0", "/targets/unit", "[1] = -1, expected 0 to 2",
                   [](QuestionFile& f) { f.windows[1].unit = -1; }},
        WrongValue{"context_before_the_row", "/targets/context_begin", "[1] = -1, expected 0 to 12",
                   [](QuestionFile& f) { f.windows[1].context_begin = -1; }},
        WrongValue{"context_behind_the_row", "/targets/context_end", "[3] = 13, expected 0 to 12",
                   [](QuestionFile& f) { f.windows[3].context_end = 13; }},
        WrongValue{"token_of_nothing", "/targets/token_begin", "[3] = 12, expected 0 to 11",
                   [](QuestionFile& f) { f.windows[3].token_begin = 12; }},
        WrongValue{"paragraph_3", "/units/paragraph", "[2] = 3, expected 0 to 2",
                   [](QuestionFile& f) { f.paragraphs[2] = 3; }},
        WrongValue{"answer_4", "/units/first_answer", "[3] = 4, expected 0 to 3",
                   [](QuestionFile& f) { f.first_answers[3] = 4; }}),
    change_name);

TEST(RaggedRows, HaveOffsetsThatAscendOverAllValues) {
  const raw::TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::int64_t>& offsets, std::int64_t first,
                           std::int64_t count) {
    const auto path = folder / "a.h5";
    std::filesystem::remove(path);
    QuestionFile().write(path);
    raw::edit(path, [&](hid_t f) {
      raw::remove(f, "/answers/text/offsets");
      raw::dataset(f, "/answers/text/offsets", H5T_STD_I64LE, {4}, offsets.data());
    });
    DataSet data_set(path);
    std::string place;
    try {
      read_ragged(data_set, "/answers/text", first, count);
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::dataset);
      EXPECT_NE(text.find("expected offsets that ascend from 0 to the 15 rows of "
                          "/answers/text/values (read)"),
                std::string::npos)
          << text;
      const auto begin = text.find("/answers/text/offsets") + 21;
      place = text.substr(begin, text.find(',', begin) - begin);
    }
    return place;
  };
  EXPECT_EQ(refused({0, 6, 11, 15}, 0, 3), "");
  EXPECT_EQ(refused({1, 6, 11, 15}, 0, 3), "[0] = 1");
  EXPECT_EQ(refused({0, 6, 11, 14}, 0, 3), "[3] = 14");
  EXPECT_EQ(refused({0, 6, 11, 16}, 0, 3), "[3] = 16");
  EXPECT_EQ(refused({0, 12, 11, 15}, 0, 3), "[2] = 11");
  EXPECT_EQ(refused({0, 16, 11, 15}, 0, 1), "[1] = 16");
  EXPECT_EQ(refused({-1, 6, 11, 15}, 0, 1), "[0] = -1");
  EXPECT_EQ(refused({0, -6, 11, 15}, 1, 1), "[1] = -6");
  EXPECT_EQ(refused({0, 6, 11, 14}, 3, 0), "[3] = 14");
  EXPECT_EQ(refused({9, 6, 11, 14}, 1, 1), "") << "what is not read";
}

}  // namespace
}  // namespace tally::data
