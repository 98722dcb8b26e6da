// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/tasks/multiple_choice.hpp>

namespace tally::tasks {
namespace {

using testing::ElementsAre;

MultipleChoiceQuestion question(std::vector<std::string_view> texts, std::int64_t gold = 0) {
  return {.unit = 5, .id = "q", .gold = gold, .texts = std::move(texts)};
}

std::vector<SequenceRecord> choices(const std::vector<double>& losses) {
  std::vector<SequenceRecord> made;
  for (const double loss : losses) made.push_back({.tokens = 1, .loss = loss});
  return made;
}

std::vector<std::int64_t> chosen(const std::vector<std::string_view>& texts,
                                 const std::vector<double>& losses) {
  const Chosen found = choose(question(texts), choices(losses));
  return {found.most_likely, found.by_character, found.by_byte};
}

TEST(Choices, TheMostLikelyOneIsChosen) {
  EXPECT_THAT(chosen({"aa", "bb", "cc"}, {3, 1, 2}), ElementsAre(1, 1, 1));
  EXPECT_THAT(chosen({"a"}, {9}), ElementsAre(0, 0, 0));
  EXPECT_THAT(choose(question({"a", "b"}), choices({3, 0})).log_likelihoods, ElementsAre(-3, 0));
}

TEST(Choices, OfEqualOnesTheFirst) {
  EXPECT_THAT(chosen({"aa", "bb", "cc"}, {3, 2, 2}), ElementsAre(1, 1, 1));
}

TEST(Choices, LengthIsOfCharactersOrBytes) {
  // By character -2, -1.5, -2; by byte -1, -1.5, -2.
  EXPECT_THAT(chosen({"äö", "abcd", "x"}, {4, 6, 2}), ElementsAre(2, 1, 0));
  EXPECT_THAT(chosen({"世界", "abcde"}, {6, 10}), ElementsAre(0, 1, 0));
}

TEST(Choices, OneWithoutATextComesLastByLength) {
  EXPECT_THAT(chosen({"", "abc"}, {0, 9}), ElementsAre(0, 1, 1));
  EXPECT_THAT(chosen({"", ""}, {2, 1}), ElementsAre(1, 0, 0));
}

TEST(Choices, NothingIsChosenWhereOneIsNotFinite) {
  auto given = choices({3, 1});
  given[0].finite = 0;
  given[0].loss = std::numeric_limits<double>::quiet_NaN();
  const MultipleChoiceQuestion asked = question({"a", "b"}, 1);
  const Chosen found = choose(asked, given);
  EXPECT_EQ(found.most_likely + found.by_character + found.by_byte, -3);
  const auto row = row_of(asked, found);
  EXPECT_FALSE(row.finite || row.right || row.right_by_character || row.right_by_byte);
  EXPECT_EQ(found.log_likelihoods[1], -1);
}

TEST(Choices, BecomeARow) {
  MultipleChoiceQuestion asked = question({"äö", "abcd", "x"}, 1);
  const auto given = choices({4, 6, 2});
  auto row = row_of(asked, choose(asked, given));
  EXPECT_EQ(row.index, 5U);
  EXPECT_TRUE(row.finite && row.right_by_character);
  EXPECT_FALSE(row.right || row.right_by_byte || row.ignored);
  asked.gold = 2;
  asked.whole = false;
  row = row_of(asked, choose(asked, given));
  EXPECT_TRUE(row.right && row.ignored);
}

TEST(Choices, AreSaved) {
  predictions::RecordBatch records;
  for (const auto& asked : {question({"ab", "c"}, 1), question({"abc"})}) {
    const std::vector<double> losses(asked.texts.size(), 2);
    append_question(asked, choose(asked, choices(losses)), records);
  }
  ASSERT_EQ(records.num_rows, 2);
  EXPECT_TRUE(
      std::ranges::is_sorted(multiple_choice_columns(), {}, &predictions::ColumnSpec::name));
  EXPECT_THAT(records.lengths.at(0), ElementsAre(1, 1));
  EXPECT_THAT(records.lengths.at(3), ElementsAre(2, 1));
  EXPECT_EQ(records.columns.at(3).size(), 3 * sizeof(double));
  for (const std::size_t column : {1U, 2U, 4U, 5U, 6U}) {
    EXPECT_EQ(records.columns.at(column).size(), 2 * sizeof(std::int64_t));
  }
}

}  // namespace
}  // namespace tally::tasks
