// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/communicator.hpp>

#include <gmock/gmock.h>

#include <numeric>
#include <string>

#include <tally/base/error.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using CommunicatorTest = CommTest;

TEST_F(CommunicatorTest, LocalRanksCountTheRanksOfThisNode) {
  EXPECT_EQ(world().local_world_size(), size());  // the tests run on one node
  EXPECT_EQ(world().local_rank(), rank());
  EXPECT_EQ(world().is_root(), rank() == 0);
}

TEST_F(CommunicatorTest, BroadcastGivesEveryRankTheBytesOfRankZero) {
  for (const std::int64_t num_bytes : {0, 1, 6, 7, 8, 1000}) {
    for (const std::int64_t piece : {std::int64_t{7}, std::int64_t{1} << 28}) {
      world().set_max_piece(piece);
      auto bytes = pattern(rank(), rank() == 0 ? num_bytes : rank());

      world().broadcast(bytes);

      EXPECT_EQ(bytes, pattern(0, num_bytes)) << num_bytes << " bytes in pieces of " << piece;
    }
  }
}

TEST_F(CommunicatorTest, BroadcastOfTextReplacesLongerAndShorterTexts) {
  const std::string local(static_cast<std::size_t>(rank()) * 10, 'x');
  EXPECT_EQ(world().broadcast(rank() == 0 ? "from the root" : local), "from the root");
  EXPECT_EQ(world().broadcast(rank() == 0 ? "" : "something"), "");
}

TEST_F(CommunicatorTest, SumInPlaceIsTheSumWhateverThePieces) {
  for (const std::int64_t piece : {1, 3, 100, 101, 1 << 20}) {
    world().set_max_piece(piece);
    std::vector<std::int64_t> values(100);
    for (std::int64_t i = 0; i < 100; ++i) values[static_cast<std::size_t>(i)] = i * i + rank();

    world().sum_in_place(values);

    for (std::int64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(values[static_cast<std::size_t>(i)], size() * i * i + rank_sum()) << piece;
    }
  }
}

TEST_F(CommunicatorTest, SumInPlaceKeepsAll64Bits) {
  std::vector<std::int64_t> values{(std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 60)};
  if (rank() != 0) values = {0, 1};

  world().sum_in_place(values);

  EXPECT_THAT(values, testing::ElementsAre((std::int64_t{1} << 53) + 1,
                                           -(std::int64_t{1} << 60) + size() - 1));
}

TEST_F(CommunicatorTest, SumInPlaceOfNothingIsNothing) {
  std::vector<std::int64_t> none;
  world().sum_in_place(none);
  EXPECT_TRUE(none.empty());
}

TEST_F(CommunicatorTest, ScalarsAreReduced) {
  EXPECT_EQ(world().max(rank() * 10), (size() - 1) * 10);
  EXPECT_EQ(world().max(-rank()), 0);
}

TEST_F(CommunicatorTest, AllGatherIsInRankOrder) {
  const auto values = world().all_gather(rank() * rank());
  ASSERT_EQ(std::ssize(values), size());
  for (std::int64_t r = 0; r < size(); ++r) EXPECT_EQ(values[static_cast<std::size_t>(r)], r * r);
}

TEST_F(CommunicatorTest, GatherBringsTextsOfAnyLengthToRankZero) {
  world().set_max_piece(4);
  const std::string local = rank() % 2 == 0 ? std::string(static_cast<std::size_t>(rank()) * 3, 'a')
                                            : "odd " + std::to_string(rank());

  const auto texts = world().gather(local);

  ASSERT_EQ(std::ssize(texts), rank() == 0 ? size() : 0);
  for (std::size_t r = 0; r < texts.size(); ++r) {
    EXPECT_EQ(texts[r], r % 2 == 0 ? std::string(r * 3, 'a') : "odd " + std::to_string(r));
  }
}

TEST_F(CommunicatorTest, RowsGatheredInRoundsEqualOneRound) {
  constexpr std::int64_t kRowBytes = 5;
  std::vector<std::int64_t> rows_per_rank;
  std::vector<std::byte> expected;
  for (std::int64_t r = 0; r < size(); ++r) {
    rows_per_rank.push_back(r % 3 == 1 ? 0 : 4 + 7 * r);
    const auto rows = pattern(r, rows_per_rank.back() * kRowBytes);
    expected.insert(expected.end(), rows.begin(), rows.end());
  }
  const auto local = pattern(rank(), rows_per_rank[static_cast<std::size_t>(rank())] * kRowBytes);
  for (const std::int64_t max_rows : {1, 2, 3, 10, 1 << 20}) {
    world().set_max_piece(max_rows);
    std::vector<std::byte> received(rank() == 0 ? expected.size() : 0);

    world().gather_rows(local, kRowBytes, rows_per_rank, received);

    if (rank() == 0) {
      EXPECT_EQ(received, expected) << "rounds of " << max_rows;
    }

    received.assign(expected.size(), std::byte{0});
    world().all_gather_rows(local, kRowBytes, rows_per_rank, received);
    EXPECT_EQ(received, expected) << "rounds of " << max_rows;
  }
}

TEST_F(CommunicatorTest, NoRowsAreGatheredFromNobody) {
  const std::vector<std::int64_t> none(static_cast<std::size_t>(size()), 0);
  world().gather_rows({}, 5, none, {});
  world().all_gather_rows({}, 5, none, {});
}

TEST_F(CommunicatorTest, GatherRowsRefusesABufferOfAnotherSize) {
  const std::vector<std::int64_t> rows_per_rank(static_cast<std::size_t>(size()), 2);
  const std::vector<std::byte> local(7);
  std::vector<std::byte> received(static_cast<std::size_t>(size() * 8));
  EXPECT_THROW(world().gather_rows(local, 4, rows_per_rank, received), Error);
  EXPECT_THROW(world().all_gather_rows(local, 4, rows_per_rank, received), Error);
  const std::vector<std::byte> right(8);
  received.pop_back();
  EXPECT_THROW(world().all_gather_rows(right, 4, rows_per_rank, received), Error);
}

TEST_F(CommunicatorTest, PiecesAreBetweenOneAndTheLimitOfInt) {
  EXPECT_THROW(world().set_max_piece(0), Error);
  EXPECT_THROW(world().set_max_piece((std::int64_t{1} << 30) + 1), Error);
}

}  // namespace
}  // namespace tally::comm
