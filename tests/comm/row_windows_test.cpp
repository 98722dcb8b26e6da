// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/windowed_gather.hpp>

#include <gmock/gmock.h>

#include <numeric>
#include <random>

namespace tally::comm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<RowWindow> row_windows(const std::vector<std::int64_t>& rows_per_rank,
                                   std::int64_t row_bytes, std::int64_t window_bytes) {
  RowWindows windows(rows_per_rank, row_bytes, window_bytes);
  std::vector<RowWindow> all;
  while (auto window = windows.next()) all.push_back(std::move(*window));
  return all;
}

TEST(RowWindows, CutsAcrossRanks) {
  const auto windows = row_windows({3, 0, 4}, 10, 25);

  ASSERT_THAT(windows, SizeIs(4));
  EXPECT_EQ(windows[1].rows, (RowRange{2, 2}));
  EXPECT_THAT(windows[0].parts, ElementsAre(RowRange{0, 2}, RowRange{0, 0}, RowRange{0, 0}));
  EXPECT_THAT(windows[1].parts, ElementsAre(RowRange{2, 1}, RowRange{0, 0}, RowRange{0, 1}));
  EXPECT_THAT(windows[2].parts, ElementsAre(RowRange{3, 0}, RowRange{0, 0}, RowRange{1, 2}));
  EXPECT_THAT(windows[3].parts, ElementsAre(RowRange{3, 0}, RowRange{0, 0}, RowRange{3, 1}));
}

TEST(RowWindows, NoRowsNoWindows) {
  EXPECT_THAT(row_windows({}, 8, 64), IsEmpty());
  EXPECT_THAT(row_windows({0, 0}, 8, 64), IsEmpty());
}

TEST(RowWindows, AWindowHoldsAtLeastOneRow) {
  EXPECT_THAT(row_windows({5}, 100, 64), SizeIs(5));
  EXPECT_THAT(row_windows({5}, 100, 0), SizeIs(5));
  EXPECT_THAT(row_windows({5}, 0, 2), SizeIs(3));  // rows of no bytes
}

TEST(RowWindows, CountsBeyond32BitsAreCutIntoInts) {
  const std::int64_t many = (std::int64_t{1} << 33) + 5;
  const std::int64_t piece = std::int64_t{1} << 28;
  const auto windows = row_windows({many, many}, 1, piece);

  ASSERT_THAT(windows, SizeIs(65));  // 2^34 + 10 rows
  EXPECT_EQ(windows.back().rows, (RowRange{std::int64_t{1} << 34, 10}));
  EXPECT_THAT(windows[32].parts,
              ElementsAre(RowRange{std::int64_t{1} << 33, 5}, RowRange{0, piece - 5}));
}

TEST(RowWindows, EveryRowOnceInOrder) {
  std::mt19937 random(3);
  const auto draw = [&](std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> rows_per_rank(static_cast<std::size_t>(draw(6) + 1));
    for (auto& rows : rows_per_rank) rows = draw(3) == 0 ? 0 : draw(30);
    const std::int64_t row_bytes = draw(9);
    const std::int64_t window_bytes = draw(50);
    std::vector<std::int64_t> next_of_rank(rows_per_rank.size(), 0);
    std::int64_t next = 0;
    for (const auto& window : row_windows(rows_per_rank, row_bytes, window_bytes)) {
      EXPECT_EQ(window.rows.first, next);
      EXPECT_TRUE(window.rows.count == 1 || window.rows.count * row_bytes <= window_bytes);
      next += window.rows.count;
      std::int64_t num_parts_rows = 0;
      for (std::size_t r = 0; r < rows_per_rank.size(); ++r) {
        EXPECT_EQ(window.parts[r].first, next_of_rank[r]);
        next_of_rank[r] += window.parts[r].count;
        num_parts_rows += window.parts[r].count;
      }
      EXPECT_EQ(num_parts_rows, window.rows.count);
    }
    EXPECT_EQ(next_of_rank, rows_per_rank);
    EXPECT_EQ(next, std::accumulate(rows_per_rank.begin(), rows_per_rank.end(), std::int64_t{0}));
  }
}

}  // namespace
}  // namespace tally::comm
