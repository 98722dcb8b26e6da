// SPDX-License-Identifier: Apache-2.0
#include <tally/plan/batch_grid.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <tally/base/error.hpp>

namespace tally::plan {
namespace {

TEST(BatchGrid, OnlyTheLastBatchIsShort) {
  const BatchGrid grid(10, 4);

  EXPECT_EQ(grid.num_batches(), 3);
  EXPECT_EQ(grid.samples_of(0).first, 0);
  EXPECT_EQ(grid.samples_of(1).end(), 8);
  EXPECT_EQ(grid.samples_of(2).first, 8);
  EXPECT_EQ(grid.samples_of(2).count, 2);
  EXPECT_EQ(grid.samples_of(BatchRange{1, 2}).count, 6);
}

TEST(BatchGrid, AnEmptyRangeAtTheEndIsNoSamples) {
  const BatchGrid grid(10, 4);

  EXPECT_EQ(grid.samples_of(BatchRange{3, 0}).first, 10);
  EXPECT_EQ(grid.samples_of(BatchRange{3, 0}).count, 0);
}

// Walks the ranks: each slice starts where the last one ended, in batches and in samples.
void expect_partition(const BatchGrid& grid, int world_size) {
  std::int64_t next_batch = 0;
  std::int64_t next_sample = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  for (int rank = 0; rank < world_size; ++rank) {
    const BatchRange slice = grid.slice_of(rank, world_size);
    EXPECT_EQ(slice.first, next_batch);
    EXPECT_EQ(grid.samples_of(slice).first, next_sample);
    next_batch = slice.end();
    next_sample = grid.samples_of(slice).end();
    least = std::min(least, slice.count);
    most = std::max(most, slice.count);
  }
  EXPECT_EQ(next_batch, grid.num_batches());
  EXPECT_EQ(next_sample, grid.num_samples());
  EXPECT_LE(most - least, 1);
  EXPECT_EQ(grid.most_computed(world_size), most * grid.batch_size());
  EXPECT_GE(grid.even_share(world_size) * world_size, grid.num_samples());
  EXPECT_LT((grid.even_share(world_size) - 1) * world_size, grid.num_samples());
  EXPECT_LE(grid.balance(world_size), 1.0);
}

TEST(BatchGrid, SlicesPartitionTheGridForAnyNumberOfRanks) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> samples(0, 700);
  std::uniform_int_distribution<std::int64_t> size(1, 80);
  for (int trial = 0; trial < 60; ++trial) {
    const BatchGrid grid(samples(random), size(random));
    for (const int world_size : {1, 2, 3, 5, 8, 64, 1000}) {
      SCOPED_TRACE(testing::Message() << grid.num_samples() << " samples, batches of "
                                      << grid.batch_size() << ", " << world_size << " ranks");
      expect_partition(grid, world_size);
    }
  }
}

// Blocks are what single batches are otherwise: the same number to every rank, but for one.
TEST(BatchGrid, SlicesAreWholeBlocks) {
  std::mt19937 random(8);
  std::uniform_int_distribution<std::int64_t> samples(0, 700), size(1, 40), batches(1, 9);
  for (int trial = 0; trial < 60; ++trial) {
    const BatchGrid grid(samples(random), size(random), batches(random));
    const BatchGrid blocks(grid.num_samples(), grid.batch_size() * grid.batches_per_block());
    ASSERT_EQ(grid.num_blocks(), blocks.num_batches());
    for (const int world_size : {1, 2, 3, 5, 8, 64}) {
      SCOPED_TRACE(testing::Message()
                   << grid.num_samples() << " samples, batches of " << grid.batch_size()
                   << ", blocks of " << grid.batches_per_block() << ", " << world_size << " ranks");
      std::int64_t next = 0;
      for (int rank = 0; rank < world_size; ++rank) {
        const BatchRange slice = grid.slice_of(rank, world_size);
        const BatchRange of_blocks = blocks.slice_of(rank, world_size);
        EXPECT_EQ(slice.first, next);
        EXPECT_TRUE(slice.end() % grid.batches_per_block() == 0 ||
                    slice.end() == grid.num_batches());
        EXPECT_EQ(grid.samples_of(slice).first, blocks.samples_of(of_blocks).first);
        EXPECT_EQ(grid.samples_of(slice).count, blocks.samples_of(of_blocks).count);
        next = slice.end();
      }
      EXPECT_EQ(next, grid.num_batches());
    }
  }
}

TEST(BatchGrid, BlocksOfOneAreBatches) {
  const BatchGrid plain(103, 4), blocks(103, 4, 1);
  EXPECT_EQ(plain.batches_per_block(), 1);
  EXPECT_EQ(plain.num_blocks(), 26);
  for (int rank = 0; rank < 7; ++rank) {
    EXPECT_EQ(plain.slice_of(rank, 7).first, blocks.slice_of(rank, 7).first);
    EXPECT_EQ(plain.slice_of(rank, 7).count, blocks.slice_of(rank, 7).count);
  }
  EXPECT_EQ(plain.slice_of(0, 7).count, 4);
}

TEST(BatchGrid, BlocksAreSharedOutByHand) {
  const BatchGrid grid(42, 4, 3);  // 11 batches: blocks of 3, 3, 3 and 2
  EXPECT_EQ(grid.num_batches(), 11);
  EXPECT_EQ(grid.num_blocks(), 4);
  EXPECT_EQ(grid.slice_of(0, 3).count, 6);
  EXPECT_EQ(grid.slice_of(1, 3).first, 6);
  EXPECT_EQ(grid.slice_of(2, 3).first, 9);
  EXPECT_EQ(grid.slice_of(2, 3).count, 2);
  EXPECT_EQ(grid.samples_of(grid.slice_of(2, 3)).count, 6);
  EXPECT_EQ(grid.slice_of(4, 5).first, 11);
  EXPECT_EQ(grid.slice_of(4, 5).count, 0);
  EXPECT_EQ(grid.even_share(3), 14);
  EXPECT_EQ(grid.most_computed(3), 24);
  EXPECT_DOUBLE_EQ(grid.balance(3), 42.0 / 3 / 24);
  EXPECT_DOUBLE_EQ(BatchGrid(42, 4, 100).balance(2), 42.0 / 2 / 44);
}

TEST(BatchGrid, HugeSetsDoNotOverflow) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const BatchGrid grid(kMost, kMost / 2 + 1);

  EXPECT_EQ(grid.num_batches(), 2);
  EXPECT_EQ(grid.samples_of(1).end(), kMost);

  const BatchGrid in_blocks(kMost, 2, kMost / 2);
  EXPECT_EQ(in_blocks.num_blocks(), 2);
  EXPECT_EQ(in_blocks.samples_of(in_blocks.slice_of(1, 2)).end(), kMost);
}

TEST(BatchGrid, MoreRanksThanBatchesLeavesEmptySlices) {
  const BatchGrid grid(3, 2);

  EXPECT_EQ(grid.slice_of(1, 5).count, 1);
  EXPECT_EQ(grid.slice_of(4, 5).count, 0);
  EXPECT_DOUBLE_EQ(grid.balance(5), 3.0 / 5.0 / 2.0);
}

TEST(BatchGrid, BalanceCountsWhatFillsTheLastBatch) {
  EXPECT_DOUBLE_EQ(BatchGrid(96, 64).balance(2), 48.0 / 64.0);
  EXPECT_DOUBLE_EQ(BatchGrid(96, 48).balance(2), 1.0);
}

TEST(BatchGrid, BalanceIsOneWhereThereIsNothingToDo) {
  EXPECT_DOUBLE_EQ(BatchGrid(0, 64).balance(4), 1.0);
}

TEST(BatchGrid, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(BatchGrid(-1, 4), Error);
  EXPECT_THROW(BatchGrid(4, 0), Error);
  EXPECT_THROW(BatchGrid(4, 2, 0), Error);
  const BatchGrid grid(10, 4);
  EXPECT_THROW(grid.samples_of(3), Error);
  EXPECT_THROW(grid.samples_of(BatchRange{2, 2}), Error);
  EXPECT_THROW(grid.slice_of(2, 2), Error);
  EXPECT_THROW(grid.slice_of(-1, 2), Error);
}

bool any_size(std::int64_t) { return true; }

TEST(BetterBatchSize, SharesEvenly) {
  const BatchGrid grid(std::int64_t{98} * 512, 512);  // 98 batches on 64 ranks
  ASSERT_LT(grid.balance(64), 0.9);
  EXPECT_EQ(better_batch_size(grid, 64, any_size), 392);
  EXPECT_EQ(BatchGrid(std::int64_t{98} * 512, 392).balance(64), 1.0);
  EXPECT_EQ(better_batch_size(BatchGrid(96, 64), 2, any_size), 48);
  EXPECT_EQ(better_batch_size(BatchGrid(61, 64), 3, any_size), 21);
}

TEST(BetterBatchSize, IsOneThatSuits) {
  const auto pairs_from_16_on = [](std::int64_t size) { return size >= 16 && size % 2 == 0; };
  EXPECT_EQ(better_batch_size(BatchGrid(90, 64), 2, pairs_from_16_on), 46);
  EXPECT_EQ(better_batch_size(BatchGrid(96, 64), 8, pairs_from_16_on), 16);
  EXPECT_EQ(better_batch_size(BatchGrid(96, 16), 8, pairs_from_16_on), std::nullopt);
}

TEST(BetterBatchSize, IsTheOneByWhichLeastIsComputed) {
  // A rank has 70 samples: one batch of 96, or two of 35 or of 64.
  const auto suits_one_of = [](std::int64_t one, std::int64_t other) {
    return [=](std::int64_t size) { return size == one || size == other; };
  };
  EXPECT_EQ(better_batch_size(BatchGrid(140, 128), 2, suits_one_of(96, 35)), 35);
  EXPECT_EQ(better_batch_size(BatchGrid(140, 128), 2, suits_one_of(96, 64)), 96);
}

TEST(BetterBatchSize, IsNoneWhereNothingHelps) {
  EXPECT_EQ(better_batch_size(BatchGrid(0, 64), 2, any_size), std::nullopt);
  EXPECT_EQ(better_batch_size(BatchGrid(3, 1), 5, any_size), std::nullopt);
  EXPECT_EQ(better_batch_size(BatchGrid(100, 34), 3, any_size), std::nullopt);
}

TEST(BetterBatchSize, IsNeverTheSizeItself) {
  // A rank has 3 batches of 10 for its 20 samples, as blocks are not divided. Two of 10 would do.
  EXPECT_EQ(BatchGrid(40, 10, 3).most_computed(2), 30);
  EXPECT_EQ(better_batch_size(BatchGrid(40, 10, 3), 2, any_size), 7);
}

TEST(BetterBatchSize, LooksBelowBatchesLargerThanTheSet) {
  EXPECT_EQ(better_batch_size(BatchGrid(10, std::int64_t{1} << 60), 2, any_size), 5);
  EXPECT_EQ(better_batch_size(BatchGrid(10, std::int64_t{1} << 60), 3, any_size), 4);
}

}  // namespace
}  // namespace tally::plan
