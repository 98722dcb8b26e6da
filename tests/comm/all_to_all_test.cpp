// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using Bytes = std::vector<std::byte>;
using Counts = std::vector<std::int64_t>;
using AllToAllTest = CommTest;

void append(const Bytes& more, Bytes& all) { all.insert(all.end(), more.begin(), more.end()); }

TEST_F(AllToAllTest, EveryRankGetsItsRowsInTheOrderOfTheSenders) {
  std::mt19937_64 random(12);  // the same on every rank
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int round = 0; round < 40; ++round) {
    const std::int64_t row_bytes = draw(1, 9);
    world().set_max_piece(round % 2 == 0 ? draw(1, 12) : 1 << 28);
    Bytes local, expected;
    Counts rows_to_rank;
    for (std::int64_t from = 0; from < size(); ++from) {
      for (std::int64_t to = 0; to < size(); ++to) {
        const std::int64_t rows = draw(0, 2) == 0 ? 0 : draw(0, 30);
        const Bytes bytes = pattern(100 * from + to, rows * row_bytes);
        if (from == rank()) append(bytes, local);
        if (from == rank()) rows_to_rank.push_back(rows);
        if (to == rank()) append(bytes, expected);
      }
    }

    EXPECT_EQ(world().all_to_all_rows(local, row_bytes, rows_to_rank), expected) << round;
  }
}

TEST_F(AllToAllTest, OneRankMayHaveThemAll) {
  const std::int64_t rows = rank() == 0 ? 3 : 0;
  const Bytes all = pattern(5, 3 * size());
  const auto received =
      world().all_to_all_rows(std::span(all).first(static_cast<std::size_t>(rows * size())), 1,
                              Counts(static_cast<std::size_t>(size()), rows));
  EXPECT_EQ(received, Bytes(all.begin() + 3 * rank(), all.begin() + 3 * (rank() + 1)));
}

// Of five ranks not all may send one of these in a round.
TEST_F(AllToAllTest, LargeRowsTravelOneByOne) {
  constexpr std::int64_t kRowBytes = std::int64_t{14} << 20;
  Bytes expected;
  for (std::int64_t from = 0; rank() == 0 && from < size(); ++from) {
    append(pattern(from, 2 * kRowBytes), expected);
  }
  Counts rows_to_rank(static_cast<std::size_t>(size()), 0);
  rows_to_rank[0] = 2;
  const Bytes local = pattern(rank(), 2 * kRowBytes);
  EXPECT_TRUE(world().all_to_all_rows(local, kRowBytes, rows_to_rank) == expected);
}

TEST_F(AllToAllTest, RefusesABufferOfAnotherSize) {
  const Counts one_each(static_cast<std::size_t>(size()), 1);
  const Bytes local(static_cast<std::size_t>(4 * size() - 1));
  EXPECT_THROW(world().all_to_all_rows(local, 4, one_each), Error);
  EXPECT_THROW(world().all_to_all_rows({}, 4, {}), Error);
}

}  // namespace
}  // namespace tally::comm
