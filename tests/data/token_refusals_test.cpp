// SPDX-License-Identifier: Apache-2.0
// What readers refuse in data sets of language models, multiple choice and token classification.
#include <gtest/gtest.h>

#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/data/describe_data_set.hpp>
#include <tally/data/multiple_choice_tables.hpp>

#include "change.hpp"
#include "expect_error.hpp"
#include "spoil.hpp"
#include "token_file.hpp"

namespace tally::data {
namespace {

void expect_refused(const TokenFile& good, const Change& change) {
  const raw::TemporaryFolder folder;
  good.write(folder / "val.h5");
  ASSERT_NO_THROW(DataSet(folder / "val.h5"));
  raw::edit(folder / "val.h5", change.apply);
  auto parts = change.message;
  parts.push_back("data set '" + (folder / "val.h5").string() + "'");
  expect_error(ErrorKind::dataset, parts, [&] { DataSet data_set(folder / "val.h5"); });
}

class DocumentRefusals : public testing::TestWithParam<Change> {};
TEST_P(DocumentRefusals, NameFileObjectFoundAndExpected) {
  expect_refused(document_file(), GetParam());
}

class ChoiceRefusals : public testing::TestWithParam<Change> {};
TEST_P(ChoiceRefusals, NameFileObjectFoundAndExpected) {
  expect_refused(choice_file(), GetParam());
}

class TagRefusals : public testing::TestWithParam<Change> {};
TEST_P(TagRefusals, NameFileObjectFoundAndExpected) { expect_refused(tag_file(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, TagRefusals,
    testing::Values(Change{"no_ignore_index",
                           {"has no root attribute 'ignore_index'"},
                           [](hid_t f) { raw::remove_attribute(f, "/", "ignore_index"); }},
                    Change{"ignoring_a_class",
                           {"has ignore_index 2, which is one of the 3 classes"},
                           [](hid_t f) { set_int(f, "/", "ignore_index", 2); }},
                    Change{"one_class",
                           {"has num_classes 1, expected 2 to 2147483647"},
                           [](hid_t f) {
                             raw::remove(f, "/class_names");
                             set_int(f, "/", "num_classes", 1);
                           }},
                    Change{"names_of_other_classes",
                           {"/class_names has shape [3], expected [4] (num_classes)"},
                           [](hid_t f) { set_int(f, "/", "num_classes", 4); }},
                    Change{"one_label_per_row",
                           {"/targets/label has shape [3], expected [N, 6]"},
                           [](hid_t f) { replace(f, "/targets/label", H5T_STD_I64LE, {3}); }},
                    Change{"units",
                           {"/targets/unit is there, but token-classification is scored by rows"},
                           [](hid_t f) {
                             const std::vector<std::int64_t> units(3);
                             raw::dataset(f, "/targets/unit", H5T_STD_I64LE, {3}, units.data());
                           }}),
    change_name);

TEST(TokenRefusals, NameEachDatasetThatIsMissing) {
  for (const TokenFile& good : {document_file(), choice_file(), tag_file()}) {
    const raw::TemporaryFolder folder;
    good.write(folder / "good.h5");
    const DataSetInfo info = DataSet(folder / "good.h5").info();
    std::vector<std::string> needed{"/lengths"};
    for (const auto* columns : {&info.columns.targets, &info.tables}) {
      for (const ColumnInfo& column : *columns) needed.push_back(column.path);
    }
    for (const std::string& path : needed) {
      const auto bad = folder / "bad.h5";
      std::filesystem::remove(bad);
      good.write(bad);
      raw::edit(bad, [&](hid_t file) { raw::remove(file, path.c_str()); });
      expect_error(ErrorKind::dataset, {path + " is missing; the task " + good.task + " needs it"},
                   [&] { DataSet data_set(bad); });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DocumentRefusals,
    testing::Values(Change{"no_ignore_index",
                           {"has no root attribute 'ignore_index'"},
                           [](hid_t f) { raw::remove_attribute(f, "/", "ignore_index"); }},
                    Change{"ignoring_the_first_token",
                           {"has ignore_index 0, which is one of the 10 tokens"},
                           [](hid_t f) { set_int(f, "/", "ignore_index", 0); }},
                    Change{"ignoring_the_last_token",
                           {"has ignore_index 9, which is one of the 10 tokens"},
                           [](hid_t f) { set_int(f, "/", "ignore_index", 9); }},
                    Change{
                        "no_vocabulary",
                        {"has num_classes 0, expected 1 to 2147483647 for the task language-model"},
                        [](hid_t f) { set_int(f, "/", "num_classes", 0); }},
                    Change{"labels_of_float",
                           {"/targets/label holds float32, expected int32, int64"},
                           [](hid_t f) {
                             replace(f, "/targets/label", H5T_IEEE_F32LE, {4, 6});
                           }},
                    Change{"one_label_per_row",
                           {"/targets/label has shape [4], expected [N, 6]"},
                           [](hid_t f) { replace(f, "/targets/label", H5T_STD_I64LE, {4}); }},
                    Change{"labels_of_other_rows",
                           {"/targets/label has shape [4, 7], expected [N, 6]"},
                           [](hid_t f) {
                             replace(f, "/targets/label", H5T_STD_I64LE, {4, 7});
                           }},
                    Change{"labels_of_fewer_rows",
                           {"/targets/label has 3 rows, but /inputs/attention_mask has 4"},
                           [](hid_t f) {
                             replace(f, "/targets/label", H5T_STD_I64LE, {3, 6});
                           }},
                    Change{"units_of_int32",
                           {"/targets/unit holds int32, expected int64"},
                           [](hid_t f) { replace(f, "/targets/unit", H5T_STD_I32LE, {4}); }},
                    Change{"words_of_fewer_documents",
                           {"/units/words has shape [2], expected [3]"},
                           [](hid_t f) { replace(f, "/units/words", H5T_STD_I64LE, {2}); }},
                    Change{"bytes_of_int32",
                           {"/units/bytes holds int32, expected int64"},
                           [](hid_t f) { replace(f, "/units/bytes", H5T_STD_I32LE, {3}); }},
                    Change{"no_documents",
                           {"/units/bytes has no rows: there are 0 documents"},
                           [](hid_t f) {
                             replace(f, "/units/bytes", H5T_STD_I64LE, {0});
                             replace(f, "/units/words", H5T_STD_I64LE, {0});
                             replace(f, "/units/id/offsets", H5T_STD_I64LE, {1});
                           }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    All, ChoiceRefusals,
    testing::Values(Change{"no_ignore_index",
                           {"has no root attribute 'ignore_index'"},
                           [](hid_t f) { raw::remove_attribute(f, "/", "ignore_index"); }},
                    Change{"choices_of_int64",
                           {"/targets/choice holds int64, expected int32"},
                           [](hid_t f) { replace(f, "/targets/choice", H5T_STD_I64LE, {5}); }},
                    Change{"first_choices_without_the_end",
                           {"/units/first_choice has shape [2], expected [3]"},
                           [](hid_t f) { replace(f, "/units/first_choice", H5T_STD_I64LE, {2}); }},
                    Change{
                        "texts_of_fewer_choices",
                        {"/choices/text/offsets has shape [5], expected [6]"},
                        [](hid_t f) { replace(f, "/choices/text/offsets", H5T_STD_I64LE, {5}); }},
                    Change{"no_questions",
                           {"/units/gold has no rows: there are 0 questions"},
                           [](hid_t f) {
                             replace(f, "/units/gold", H5T_STD_I64LE, {0});
                             replace(f, "/units/id/offsets", H5T_STD_I64LE, {1});
                             replace(f, "/units/question/offsets", H5T_STD_I64LE, {1});
                             replace(f, "/units/first_choice", H5T_STD_I64LE, {1});
                           }}),
    change_name);

// What is said where all is read.
void expect_wrong(const TokenFile& file, const std::string& message) {
  const raw::TemporaryFolder folder;
  file.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  expect_error(ErrorKind::dataset, {message + " (read)"}, [&] { verify(data_set); });
}

TEST(TokenValues, OfDocumentsAreRefused) {
  const auto wrong = [](const std::string& message, const auto& change) {
    TokenFile file = document_file();
    change(file);
    expect_wrong(file, message);
  };
  wrong("/targets/label[0, 2] = 10, expected 0..9 or ignore_index -100",
        [](TokenFile& f) { f.rows[0].labels[2] = 10; });
  wrong("/targets/label[1, 0] = -1, expected 0..9 or ignore_index -100",
        [](TokenFile& f) { f.rows[1].labels[0] = -1; });
  wrong("/targets/unit[3] = 3, expected 0 to 2", [](TokenFile& f) { f.rows[3].unit = 3; });
  wrong("/targets/unit[3] = 0 after 1, expected the same or the next of 3 documents",
        [](TokenFile& f) { f.rows[3].unit = 0; });
  wrong("/targets/unit[2] = 2 after 0, expected the same or the next of 3 documents",
        [](TokenFile& f) { f.rows[2].unit = 2; });
  wrong("/targets/unit[0] = 1 after -1, expected the same or the next of 3 documents",
        [](TokenFile& f) { f.rows[0].unit = 1; });
  wrong("/targets/unit ends with 1 of 3 documents", [](TokenFile& f) { f.rows[3].unit = 1; });
  wrong("/units/bytes[1] = -1, expected 0 to 12009599006321322",
        [](TokenFile& f) { f.bytes[1] = -1; });
  wrong("/units/words[0] = -7, expected 0 to 12009599006321322",
        [](TokenFile& f) { f.words[0] = -7; });
}

TEST(TokenValues, OfChoicesAreRefused) {
  const auto wrong = [](const std::string& message, const auto& change) {
    TokenFile file = choice_file();
    change(file);
    expect_wrong(file, message);
  };
  wrong("/targets/choice[1] = -1, expected 0 to 4", [](TokenFile& f) { f.rows[1].choice = -1; });
  wrong("/targets/choice[1] = 2 of question 0, whose choices begin with sample 0",
        [](TokenFile& f) { f.rows[1].choice = 2; });
  wrong("/targets/choice[3] = 0 of question 0, whose choices begin with sample 0",
        [](TokenFile& f) { f.rows[3].unit = 0; });
}

TEST(TokenValues, QuestionsHaveTheirChoices) {
  const auto wrong = [](const std::string& message, const auto& change) {
    TokenFile file = choice_file();
    change(file);
    expect_wrong(file, message);
    const raw::TemporaryFolder folder;
    file.write(folder / "a.h5");
    DataSet data_set(folder / "a.h5");
    expect_error(ErrorKind::dataset, {message + " (read)"}, [&] { read_choices(data_set, 0, 2); });
  };
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  wrong("/units/gold[0] = 3, but the question has 3 choices", [](TokenFile& f) { f.gold[0] = 3; });
  wrong("/units/gold[1] = 2, but the question has 2 choices", [](TokenFile& f) { f.gold[1] = 2; });
  wrong("/units/gold[1] = -1, expected 0 to 4", [](TokenFile& f) { f.gold[1] = -1; });
  wrong("/units/gold[1] = " + std::to_string(kHuge) + ", expected 0 to 4",
        [](TokenFile& f) { f.gold[1] = kHuge; });
  wrong("/units/first_choice[1] = 0, which leaves question 0 without a choice",
        [](TokenFile& f) { f.first_choice[1] = 0; });
  wrong("/units/first_choice[1] = -1, expected 0 to 5",
        [](TokenFile& f) { f.first_choice[1] = -1; });
  wrong("/units/first_choice[2] = " + std::to_string(kHuge) + ", expected 0 to 5",
        [](TokenFile& f) { f.first_choice[2] = kHuge; });
  wrong(
      "/units/first_choice[2] = 4, expected offsets that ascend from 0 to the 5 rows of "
      "/inputs/attention_mask",
      [](TokenFile& f) { f.first_choice[2] = 4; });
  wrong(
      "/units/first_choice[0] = 1, expected offsets that ascend from 0 to the 5 rows of "
      "/inputs/attention_mask",
      [](TokenFile& f) { f.first_choice[0] = 1; });
}

TEST(TokenValues, NothingIsScoredBehindTheEnd) {
  for (const hid_t type : {H5T_STD_I32LE, H5T_STD_I64LE}) {
    const raw::TemporaryFolder folder;
    TokenFile file = document_file();
    file.label_type = type;
    file.write(folder / "a.h5");
    overwrite<std::int32_t>(folder / "a.h5", "/lengths", H5T_STD_I32LE, {4}, {6, 3, 2, 1});
    DataSet data_set(folder / "a.h5");
    std::vector<std::vector<std::byte>> memory(
        2, std::vector<std::byte>(to_size(slot_bytes(data_set.info(), 3))));
    BatchReader reader(data_set, plan::BatchGrid(4, 3), {0, 2}, {memory.begin(), memory.end()});
    expect_error(ErrorKind::dataset,
                 {"/targets/label[1, 3] = 9, but the sample's length is 3 (read)"},
                 [&] { reader.next(); });
    expect_error(ErrorKind::dataset,
                 {"/targets/label[1, 3] = 9, but the sample's length is 3 (read)"},
                 [&] { verify(data_set); });
  }
}

}  // namespace
}  // namespace tally::data
