// SPDX-License-Identifier: Apache-2.0
#include <tally/plan/remaining_batches.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <tally/base/error.hpp>

namespace tally::plan {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> ranges(const std::vector<Segment>& segments) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const auto& one : segments) found.emplace_back(one.batches.first, one.batches.count);
  return found;
}

TEST(RemainingBatches, WithNothingDoneAreTheSlicesOfTheGrid) {
  const BatchGrid grid(103, 10, 2);
  const RemainingBatches all(grid, {});
  for (int rank = 0; rank < 3; ++rank) {
    const auto expected = grid.slice_of(rank, 3);
    EXPECT_EQ(all.slice_of(rank, 3).first, expected.first);
    EXPECT_EQ(all.slice_of(rank, 3).count, expected.count);
    const auto segments = all.segments_of(expected);
    ASSERT_EQ(segments.size(), 1);
    EXPECT_FALSE(segments[0].part.has_value());
  }
  EXPECT_EQ(all.num_done_samples(), 0);
}

TEST(RemainingBatches, AreSharedOutEquallyAroundWhatIsDone) {
  // Of 10 batches two ranks have done 3 and 1 of their 5: 3 4 and 6 7 8 9 are left.
  const RemainingBatches left(BatchGrid(100, 10), {{{5, 1}, 1}, {{0, 3}, 0}});
  EXPECT_EQ(left.num_done_samples(), 40);

  EXPECT_EQ(left.slice_of(0, 2).first, 0);
  EXPECT_EQ(left.slice_of(0, 2).count, 7);
  EXPECT_EQ(left.slice_of(1, 2).first, 7);

  const auto segments = left.segments_of({0, 7});
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(ranges(segments), (Pairs{{0, 3}, {3, 2}, {5, 1}, {6, 1}}));
  EXPECT_EQ(segments[0].part, std::optional<std::int64_t>(0));
  EXPECT_EQ(segments[2].part, std::optional<std::int64_t>(1));
}

TEST(RemainingBatches, OfACompleteRunAreNoneAndItsRecordsAreSharedOut) {
  const BatchGrid grid(100, 10);
  const RemainingBatches none(grid, {{{0, 10}, 4}});
  EXPECT_EQ(none.slice_of(1, 3).first, grid.slice_of(1, 3).first);
  EXPECT_EQ(ranges(none.segments_of(none.slice_of(1, 3))).size(), 1);
}

TEST(RemainingBatches, RefuseWhatIsDoneTwiceOrNoWholeBlocks) {
  const BatchGrid grid(100, 10, 2);
  const auto refused = [&](std::vector<DoneBatches> done) {
    EXPECT_THROW(RemainingBatches(grid, std::move(done)), Error);
  };
  refused({{{0, 4}, 0}, {{2, 2}, 1}});
  refused({{{0, 3}, 0}});
  refused({{{1, 1}, 0}});
  refused({{{8, 4}, 0}});
  refused({{{2, 0}, 0}});
  refused({{{-2, 2}, 0}});
}

// Any blocks of any grid may be done, on any number of ranks.
TEST(RemainingBatches, SlicesAndSegmentsPartitionAnyGrid) {
  std::mt19937 random(11);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    const BatchGrid grid(draw(0, 400), draw(1, 17), draw(1, 4));
    std::map<std::int64_t, std::int64_t> part_of_batch;
    std::vector<DoneBatches> done;
    for (std::int64_t block = 0; block < grid.num_blocks(); ++block) {
      if (draw(0, 2) != 0) continue;
      const std::int64_t first = block * grid.batches_per_block();
      const std::int64_t end = std::min(first + grid.batches_per_block(), grid.num_batches());
      done.push_back({{first, end - first}, block % 3});
      for (std::int64_t batch = first; batch < end; ++batch) part_of_batch[batch] = block % 3;
    }
    std::ranges::shuffle(done, random);
    const RemainingBatches left(grid, done);
    const int world_size = static_cast<int>(draw(1, 6));
    std::int64_t next = 0, least = grid.num_batches(), most = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      const auto slice = left.slice_of(rank, world_size);
      ASSERT_EQ(slice.first, next);
      std::int64_t missing_blocks = 0;
      for (const auto& [batches, part] : left.segments_of(slice)) {
        ASSERT_EQ(batches.first, next);
        ASSERT_GT(batches.count, 0);
        next = batches.end();
        for (auto batch = batches.first; batch < batches.end(); ++batch) {
          const auto found = part_of_batch.find(batch);
          ASSERT_EQ(part.has_value(), found != part_of_batch.end());
          if (part) {
            ASSERT_EQ(*part, found->second);
          } else if (batch % grid.batches_per_block() == 0) {
            ++missing_blocks;
          }
        }
      }
      ASSERT_EQ(next, slice.end());
      least = std::min(least, missing_blocks);
      most = std::max(most, missing_blocks);
    }
    EXPECT_EQ(next, grid.num_batches());
    EXPECT_LE(most - least, 1);
  }
}

}  // namespace
}  // namespace tally::plan
