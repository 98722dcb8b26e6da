// SPDX-License-Identifier: Apache-2.0
// Data sets of language models, multiple choice and token classification: what is read of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include <tally/base/checked_cast.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/column_values.hpp>
#include <tally/data/describe_data_set.hpp>
#include <tally/data/length_buckets.hpp>
#include <tally/data/multiple_choice_tables.hpp>

#include "expect_error.hpp"
#include "sample_file.hpp"
#include "spoil.hpp"
#include "token_file.hpp"

namespace tally::data {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class Tokens : public testing::Test {
 protected:
  DataSet open(const TokenFile& file) {
    const auto path = folder_ / std::to_string(next_++);
    file.write(path);
    return DataSet(path);
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

std::vector<std::string> names_of(const std::vector<ColumnInfo>& columns) {
  std::vector<std::string> names;
  for (const ColumnInfo& column : columns) names.push_back(column.name);
  return names;
}

TEST_F(Tokens, DocumentsAreUnits) {
  const DataSet data_set = open(document_file());
  const DataSetInfo& info = data_set.info();
  EXPECT_EQ(info.num_samples, 4);
  EXPECT_EQ(info.num_units, 3);
  EXPECT_EQ(info.num_classes, 10);
  EXPECT_EQ(info.ignore_index, -100);
  EXPECT_THAT(names_of(info.columns.targets), ElementsAre("label", "unit"));
  EXPECT_EQ(info.columns.targets[0].row_shape, Shape{6});
  EXPECT_EQ(info.columns.targets[0].padding, -100);
  EXPECT_EQ(info.columns.targets[1].range->most, 2);
  EXPECT_EQ(info.columns.lengths->range->most, 6);
  EXPECT_EQ(info.tables.size(), 4U);
  EXPECT_EQ(info.table("/units/bytes").range->least, 0);
}

TEST_F(Tokens, QuestionsAreUnits) {
  const DataSet data_set = open(choice_file());
  const DataSetInfo& info = data_set.info();
  EXPECT_EQ(info.num_samples, 5);
  EXPECT_EQ(info.num_units, 2);
  EXPECT_THAT(names_of(info.columns.targets), ElementsAre("label", "choice", "unit"));
  EXPECT_EQ(info.tables.size(), 8U);
  EXPECT_EQ(info.table("/units/first_choice").range->most, 5);
  EXPECT_EQ(info.table("/choices/text/offsets").num_rows, 6);
}

TEST_F(Tokens, SentencesAreSamples) {
  const DataSet data_set = open(tag_file());
  const DataSetInfo& info = data_set.info();
  EXPECT_EQ(info.num_samples, 3);
  EXPECT_EQ(info.num_units, 0);
  EXPECT_THAT(info.class_names, ElementsAre("O", "B-PER", "I-PER"));
  EXPECT_THAT(names_of(info.columns.targets), ElementsAre("label"));
  EXPECT_EQ(info.columns.targets[0].padding, -100);
  EXPECT_TRUE(info.tables.empty());
}

TEST_F(Tokens, ClassesOfTokensAreDescribedForPeople) {
  TokenFile file = tag_file();
  file.rows_per_block = 4;
  DataSet data_set = open(file);
  EXPECT_THAT(describe(data_set),
              IsSupersetOf({HasSubstr("task token-classification, 3 samples, 3 classes"),
                            HasSubstr("class names: O, B-PER, I-PER"),
                            HasSubstr("labels: 3 of 3 classes occur; of these fewest 1 (class 1 "
                                      "'B-PER'), most 4 (class 0 'O'); 11 ignored"),
                            HasSubstr("4 tokens")}));
  EXPECT_THAT(verify(data_set), HasSubstr("all 3 rows read, labels in range"));
}

TEST_F(Tokens, LabelsAreOfEitherType) {
  for (const hid_t type : {H5T_STD_I32LE, H5T_STD_I64LE}) {
    TokenFile file = document_file();
    file.label_type = type;
    DataSet data_set = open(file);
    const ColumnInfo& label = data_set.info().columns.targets[0];
    const auto bytes = rows_of(data_set, label, 0, 4);
    std::vector<std::int64_t> labels;
    for (std::size_t at = 0; at < bytes.size(); at += to_size(size_bytes(label.dtype))) {
      std::int64_t wide = 0;
      std::int32_t narrow = 0;
      std::memcpy(&wide, bytes.data() + at, label.dtype == DType::i64 ? 8 : 0);
      std::memcpy(&narrow, bytes.data() + at, 4);
      labels.push_back(label.dtype == DType::i64 ? wide : narrow);
    }
    EXPECT_EQ(labels, file.labels());
    EXPECT_THAT(verify(data_set), HasSubstr("all 4 rows read, labels in range"));
  }
}

TEST_F(Tokens, RowsOfOneLengthNeedNoLengths) {
  TokenFile file = document_file();
  file.is_padded = false;
  const DataSet data_set = open(file);
  EXPECT_FALSE(data_set.info().columns.lengths);
  EXPECT_FALSE(data_set.info().columns.targets[0].padding);
}

TEST_F(Tokens, LabelsAreCutWithTheInputs) {
  TokenFile file = document_file();
  file.places = 20;
  DataSet data_set = open(file);
  const std::int64_t bytes = slot_bytes(data_set.info(), 4);
  std::vector<std::vector<std::byte>> memory(3, std::vector<std::byte>(to_size(bytes)));
  BatchReader blocks(data_set, plan::BatchGrid(4, 4), {0, 1}, {memory[0], memory[1]});
  LengthBuckets buckets(blocks, data_set.info(), 4, 1, {memory[2]});
  const Batch* batch = buckets.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->indices, ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(batch->inputs[0].shape, (Shape{4, 8}));
  EXPECT_EQ(batch->targets[0].shape, (Shape{4, 8}));
  const auto* labels = batch->targets[0].as<const std::int64_t>();
  EXPECT_EQ(std::vector(labels + 16, labels + 32),
            (std::vector<std::int64_t>{-100, -100, 7, 9, -100, -100, -100, -100,  //
                                       1, 2, 3, 4, 5, 6, -100, -100}));
  EXPECT_EQ(batch->targets[1].shape, Shape{4});
}

TEST_F(Tokens, TheTypicalLengthIsTheMedianOrTheMost) {
  const auto found = [&](const std::vector<std::size_t>& lengths, std::int64_t num_samples = 0) {
    TokenFile file = document_file();
    file.places = 30;
    file.rows.clear();
    for (const std::size_t length : lengths) {
      file.rows.push_back({.unit = 0, .labels = std::vector<std::int64_t>(length, 1)});
    }
    DataSet data_set = open(file);
    return typical_length(data_set, num_samples > 0 ? num_samples : std::ssize(lengths));
  };
  EXPECT_EQ(found({30, 2, 9, 11, 30}), 16);  // 11, rounded up
  EXPECT_EQ(found({8, 2, 8}), 8);
  EXPECT_EQ(found({30, 3, 30, 4}), 30);             // half have the most
  EXPECT_EQ(found({29, 29, 29, 2}), 30);            // rounded up to no more than there are
  EXPECT_EQ(found({9, 9, 30, 30, 30, 30}, 3), 16);  // of the first three
  std::vector<std::size_t> many(4096, 9);
  many.insert(many.end(), 5000, 30);
  EXPECT_EQ(found(many), 16);  // by the first ones
}

TEST_F(Tokens, ChoicesOfQuestionsAreRead) {
  for (const std::int64_t rows_per_block : {0, 1, 64}) {
    TokenFile file = choice_file();
    file.rows_per_block = rows_per_block;
    DataSet data_set = open(file);
    EXPECT_EQ(data_set.info().checksums.columns, rows_per_block > 0);
    const Choices all = read_choices(data_set, 0, 2);
    EXPECT_THAT(all.first_choice, ElementsAre(0, 3, 5));
    EXPECT_THAT(all.gold, ElementsAre(2, 0));
    EXPECT_THAT(read_choices(data_set, 1, 1).first_choice, ElementsAre(3, 5));
    EXPECT_THAT(read_choices(data_set, 1, 1).gold, ElementsAre(0));
    EXPECT_EQ(read_choices(data_set, 2, 0).num_questions(), 0);
    const RaggedRows texts = read_ragged(data_set, "/choices/text", 0, 5);
    EXPECT_EQ(texts.text(1), "you");
    EXPECT_EQ(texts.text(2), "");
    EXPECT_EQ(read_ragged(data_set, "/units/question", 1, 1).text(0), "東京?");
  }
}

// Each change leaves the file as large as it was.
const std::vector<std::function<void(TokenFile&)>> kDocumentChanges{
    [](TokenFile& f) { f.num_tokens = 11; },       [](TokenFile& f) { f.ignore_index = -1; },
    [](TokenFile& f) { f.rows[0].labels[5] = 5; }, [](TokenFile& f) { f.rows[1].unit = 1; },
    [](TokenFile& f) { f.ids[0] = "b.txt"; },      [](TokenFile& f) { f.bytes[2] = 1; },
    [](TokenFile& f) { f.words[2] = 1; }};
const std::vector<std::function<void(TokenFile&)>> kChoiceChanges{
    [](TokenFile& f) { f.rows[4].choice = 2; },
    [](TokenFile& f) { f.questions[0] = "Why?"; },
    [](TokenFile& f) { f.gold[0] = 1; },
    [](TokenFile& f) { f.first_choice[1] = 2; },
    [](TokenFile& f) { f.choices[3] = "yea"; },
    [](TokenFile& f) { std::swap(f.choices[1], f.choices[2]); }};

TEST_F(Tokens, UnitsCountForTheIdentity) {
  const auto expect_all_differ = [&](TokenFile good, const auto& changes) {
    for (const std::int64_t rows_per_block : {0, 2}) {
      good.rows_per_block = rows_per_block;
      EXPECT_EQ(open(good).identity(), open(good).identity());
      std::set<std::string> identities{open(good).identity()};
      for (std::size_t i = 0; i < changes.size(); ++i) {
        TokenFile changed = good;
        changes[i](changed);
        EXPECT_TRUE(identities.insert(open(changed).identity()).second)
            << good.task << " change " << i;
      }
    }
  };
  expect_all_differ(document_file(), kDocumentChanges);
  expect_all_differ(choice_file(), kChoiceChanges);
}

TEST_F(Tokens, DocumentsAreDescribedForPeople) {
  TokenFile file = document_file();
  file.rows_per_block = 4;
  DataSet data_set = open(file);
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(HasSubstr("task language-model, 4 samples, 3 documents")));
  EXPECT_THAT(lines, IsSupersetOf({"ignore_index: -100",
                                   "tokens: 10 scored, in 24 places; 10 kinds of them",
                                   "3 documents: 35 bytes, 7 words"}));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("class"))));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("not used"))));
  EXPECT_THAT(lines, Contains(HasSubstr("9 of 9 columns have checksums")));
}

TEST_F(Tokens, ChoicesAreDescribedForPeople) {
  DataSet data_set = open(choice_file());
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(HasSubstr("task multiple-choice, 5 samples, 2 questions")));
  EXPECT_THAT(lines, IsSupersetOf({"tokens: 6 scored, in 30 places; 10 kinds of them",
                                   "2 questions of 2 to 3 choices; the right one is 0 to 2"}));
  EXPECT_THAT(verify(data_set), HasSubstr("all 5 rows read, labels in range"));
}

TEST_F(Tokens, OutOfTheVocabularyAreListed) {
  TokenFile file = document_file();
  file.rows[1].labels[3] = 10;
  DataSet data_set = open(file);
  EXPECT_THAT(describe(data_set),
              IsSupersetOf({"labels out of range: 1",
                            "  /targets/label[1, 3] = 10, expected 0..9 or ignore_index -100"}));
}

TEST_F(Tokens, GetChecksums) {
  for (const TokenFile& file : {document_file(), choice_file()}) {
    const DataSetInfo info = open(file).info();
    const auto path = folder_ / (file.task + " checked");
    add_checksums(info.path, path);
    {
      DataSet copy(path);
      EXPECT_TRUE(copy.info().checksums.columns);
      EXPECT_THAT(verify(copy), HasSubstr("blocks match their checksums"));
    }
    spoil(path, info.columns.targets[0]);
    DataSet damaged(path);
    expect_error(ErrorKind::dataset, {"/targets/label rows 0..", "damaged"},
                 [&] { verify(damaged); });
  }
}

TEST_F(Tokens, AreStagedRowByRow) {
  const TokenFile file = choice_file();
  DataSet data_set = open(file);
  const std::int64_t row_bytes = 6 * (4 + 1 + 8) + 4 + 4 + 8;
  EXPECT_EQ(data_set.stage({2, 3}, folder_.path()), 3 * row_bytes);
  EXPECT_EQ(rows_of(data_set, data_set.info().columns.targets[0], 0, 5), [&](const auto& labels) {
    const auto bytes = std::as_bytes(std::span(labels));
    return std::vector(bytes.begin(), bytes.end());
  }(file.labels()));
}

}  // namespace
}  // namespace tally::data
