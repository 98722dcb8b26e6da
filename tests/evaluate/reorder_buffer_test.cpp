// SPDX-License-Identifier: Apache-2.0
#include "reorder_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>

namespace tally::evaluate {
namespace {

using predictions::ColumnSpec;
using predictions::RecordBatch;

const std::vector<ColumnSpec> kColumns{{"fixed", DType::i32, {2}},
                                       {"index", DType::i64, {}},
                                       {"pairs", DType::u8, {2}, true},
                                       {"text", DType::u8, {}, true}};

void append_bytes(std::span<const std::byte> bytes, std::vector<std::byte>& column) {
  column.insert(column.end(), bytes.begin(), bytes.end());
}

// Rows that tell which sample they are of; a row of a text may be empty.
RecordBatch rows_of(std::span<const std::int64_t> indices) {
  RecordBatch rows{std::ssize(indices), {}, {}};
  rows.columns.resize(kColumns.size());
  rows.lengths.resize(kColumns.size());
  for (const std::int64_t index : indices) {
    const std::int32_t fixed[2] = {static_cast<std::int32_t>(index), -1};
    append_bytes(std::as_bytes(std::span(fixed)), rows.columns[0]);
    append_bytes(std::as_bytes(std::span(&index, 1)), rows.columns[1]);
    const std::vector<std::uint8_t> pairs(to_size(2 * (index % 4)),
                                          static_cast<std::uint8_t>(index));
    append_bytes(std::as_bytes(std::span(pairs)), rows.columns[2]);
    rows.lengths[2].push_back(index % 4);
    const std::string text(to_size(index * 7 % 5), static_cast<char>('a' + index % 26));
    append_bytes(std::as_bytes(std::span(text)), rows.columns[3]);
    rows.lengths[3].push_back(std::ssize(text));
  }
  return rows;
}

void expect_equal(const RecordBatch& found, const RecordBatch& expected) {
  EXPECT_EQ(found.num_rows, expected.num_rows);
  EXPECT_EQ(found.columns, expected.columns);
  EXPECT_EQ(found.lengths, expected.lengths);
}

TEST(ReorderBuffer, SortsRowsOfFixedAndOfAnyLength) {
  std::mt19937 random(2);
  ReorderBuffer rows(kColumns);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::int64_t> indices(1 + random() % 40);
    std::iota(indices.begin(), indices.end(), trial * 1000);
    auto shuffled = indices;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (std::span<const std::int64_t> rest = shuffled; !rest.empty();) {
      const std::size_t count = 1 + random() % rest.size();
      rows.add(rows_of(rest.first(count)), rest.first(count));
      rest = rest.subspan(count);
    }
    expect_equal(rows.take(), rows_of(indices));
  }
}

TEST(ReorderBuffer, TakesRowsWithoutLengthsWhereNoneAreNeeded) {
  ReorderBuffer rows({kColumns[0], kColumns[1]});
  const std::vector<std::int64_t> indices{5, 3};
  RecordBatch given = rows_of(indices);
  given.columns.resize(2);
  given.lengths.clear();
  rows.add(given, indices);
  const RecordBatch sorted = rows.take();
  const std::vector<std::int64_t> expected{3, 5};
  EXPECT_EQ(sorted.columns.at(1), rows_of(expected).columns[1]);
  EXPECT_EQ(sorted.num_rows, 2);
}

TEST(ReorderBuffer, IsEmptyAfterwards) {
  ReorderBuffer rows(kColumns);
  EXPECT_EQ(rows.take().num_rows, 0);
  const std::vector<std::int64_t> indices{2, 1};
  rows.add(rows_of(indices), indices);
  EXPECT_EQ(rows.take().num_rows, 2);
  const RecordBatch none = rows.take();
  EXPECT_EQ(none.num_rows, 0);
  ASSERT_EQ(none.columns.size(), kColumns.size());
  for (const auto& column : none.columns) EXPECT_TRUE(column.empty());
}

TEST(ReorderBuffer, WantsASampleForEachRow) {
  ReorderBuffer rows(kColumns);
  const std::vector<std::int64_t> indices{2, 1, 0};
  EXPECT_THROW(rows.add(rows_of(indices), std::span(indices).first(2)), Error);
  RecordBatch few = rows_of(indices);
  few.columns.pop_back();
  EXPECT_THROW(rows.add(few, indices), Error);
}

}  // namespace
}  // namespace tally::evaluate
