// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <tally/tasks/documents.hpp>

namespace tally::tasks {
namespace {

using testing::ElementsAre;

// Of very different size, so that doubles added up differ by the order.
std::vector<SequenceRecord> windows() {
  std::mt19937 random(3);
  std::vector<SequenceRecord> made;
  for (int i = 0; i < 60; ++i) {
    made.push_back({.tokens = 3, .right = 1, .in_top5 = 2, .loss = std::ldexp(1.0, i % 37) / 3});
  }
  return made;
}

TEST(DocumentSums, AreTheSameInAnyOrderAndSplit) {
  auto given = windows();
  DocumentSums whole(given.front());
  for (std::size_t i = 1; i < given.size(); ++i) whole.add(DocumentSums(given[i]));
  EXPECT_EQ(whole.tokens(), 180);
  EXPECT_EQ(whole.right(), 60);
  EXPECT_EQ(whole.in_top5(), 120);
  std::mt19937 random(9);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(given.begin(), given.end(), random);
    DocumentSums left, right;
    for (std::size_t i = 0; i < given.size(); ++i) {
      (i < 17 ? left : right).add(DocumentSums(given[i]));
    }
    std::vector<std::byte> bytes;
    right.pack(bytes);
    left.add(DocumentSums(bytes));
    EXPECT_EQ(left.loss(), whole.loss());
    EXPECT_EQ(left.tokens(), whole.tokens());
    EXPECT_EQ(left.right(), whole.right());
    EXPECT_EQ(left.in_top5(), whole.in_top5());
  }
}

TEST(DocumentSums, OfAWindowThatIsNotFiniteHaveNoLoss) {
  DocumentSums sums(windows().front());
  sums.add(DocumentSums(SequenceRecord{
      .tokens = 2, .right = 1, .loss = std::numeric_limits<double>::quiet_NaN(), .finite = 0}));
  EXPECT_FALSE(sums.finite());
  EXPECT_TRUE(std::isnan(sums.loss()));
  EXPECT_EQ(sums.tokens(), 5);
  EXPECT_EQ(sums.right(), 2);
}

TEST(DocumentSums, BecomeARow) {
  const DocumentSums sums(SequenceRecord{.tokens = 4, .right = 1, .in_top5 = 3, .loss = 2.5});
  const auto row = row_of({.unit = 6, .id = "d", .bytes = 9, .words = 2, .whole = false}, sums);
  EXPECT_EQ(row.index, 6U);
  EXPECT_EQ(row.tokens, 4);
  EXPECT_EQ(row.right, 1);
  EXPECT_EQ(row.in_top5, 3);
  EXPECT_EQ(row.loss, 2.5);
  EXPECT_EQ(row.bytes, 9);
  EXPECT_EQ(row.words, 2);
  EXPECT_TRUE(row.finite);
  EXPECT_FALSE(row.whole);
}

template <class T>
T value_in(const predictions::RecordBatch& records, std::string_view name, std::size_t row) {
  const auto columns = document_columns();
  const auto column = std::ranges::find(columns, name, &predictions::ColumnSpec::name);
  T value;
  std::memcpy(&value,
              records.columns.at(static_cast<std::size_t>(column - columns.begin())).data() +
                  row * sizeof(T),
              sizeof value);
  return value;
}

TEST(DocumentSums, AreSaved) {
  predictions::RecordBatch records;
  const DocumentSums sums(SequenceRecord{.tokens = 4, .right = 1, .in_top5 = 3, .loss = 2.5});
  append_document({.unit = 6, .id = "né", .bytes = 9}, sums, records);
  append_document({.unit = 7, .id = "", .bytes = 9, .whole = false}, DocumentSums(), records);
  ASSERT_EQ(records.num_rows, 2);
  EXPECT_TRUE(std::ranges::is_sorted(document_columns(), {}, &predictions::ColumnSpec::name));
  EXPECT_EQ(value_in<std::int64_t>(records, "bytes", 0), 9);
  EXPECT_EQ(value_in<std::int64_t>(records, "correct", 0), 1);
  EXPECT_EQ(value_in<std::int64_t>(records, "index", 1), 7);
  EXPECT_EQ(value_in<double>(records, "loss", 0), 0.625);
  EXPECT_EQ(value_in<double>(records, "nll", 0), 2.5);
  EXPECT_EQ(value_in<std::int64_t>(records, "tokens", 0), 4);
  EXPECT_THAT(records.lengths.at(3), ElementsAre(3, 0));
  EXPECT_EQ(value_in<std::int64_t>(records, "correct_top5", 0), 3);
  EXPECT_EQ(value_in<std::int64_t>(records, "bytes", 1), -1) << "only a part was evaluated";
  EXPECT_TRUE(std::isnan(value_in<double>(records, "loss", 1))) << "no token";
  EXPECT_EQ(value_in<double>(records, "nll", 1), 0);
}

}  // namespace
}  // namespace tally::tasks
