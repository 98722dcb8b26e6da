// SPDX-License-Identifier: Apache-2.0
// How batches are cut.
#include <algorithm>

#include <gtest/gtest.h>

#include <tally/model/micro_batches.hpp>

namespace tally::model {
namespace {

std::int64_t samples_of_busiest_thread(const Pieces& pieces, int threads) {
  return (pieces.count + threads - 1) / threads * pieces.size;
}

TEST(CutTest, PiecesHaveTheWantedSizeWhereThatIsEven) {
  EXPECT_EQ(cut(32, 1, 4), (Pieces{4, 8}));
  EXPECT_EQ(cut(32, 2, 4), (Pieces{4, 8}));
  EXPECT_EQ(cut(64, 2, 32), (Pieces{32, 2}));
}

TEST(CutTest, AllThreadsGetTheSameWhereThatIsPossible) {
  EXPECT_EQ(cut(48, 3, 4), (Pieces{4, 12}));
  EXPECT_EQ(cut(32, 8, 16), (Pieces{4, 8}));
  EXPECT_EQ(cut(50, 1, 8), (Pieces{10, 5}));
}

TEST(CutTest, SmallBatchesLeaveEachThreadWhatThereIs) {
  EXPECT_EQ(cut(4, 8, 4), (Pieces{1, 4}));
  EXPECT_EQ(cut(1, 1, 4), (Pieces{1, 1}));
  EXPECT_EQ(cut(3, 1, 1000), (Pieces{3, 1}));
}

TEST(CutTest, PiecesHaveAtLeastWhatIsAskedFor) {
  for (const std::int64_t batch_size : {24, 28, 30, 45, 48, 90}) {
    for (const int threads : {1, 2}) {
      if (batch_size / threads >= 16) {
        EXPECT_GE(cut(batch_size, threads, 16, 16).size, 16) << batch_size << " on " << threads;
      }
    }
  }
  EXPECT_EQ(cut(8, 2, 4, 16), (Pieces{4, 2}));
}

TEST(CutTest, WasteIsLittleForAnySize) {
  for (std::int64_t batch_size = 1; batch_size <= 300; ++batch_size) {
    for (const int threads : {1, 2, 3, 5, 16}) {
      for (const std::int64_t wanted : {1, 4, 8, 16, 1000}) {
        const auto pieces = cut(batch_size, threads, wanted);
        const auto ideal = (batch_size + threads - 1) / threads;
        EXPECT_GE(pieces.size * pieces.count, batch_size);
        EXPECT_LT(pieces.size * (pieces.count - 1), batch_size);
        EXPECT_LE(pieces.size, 2 * wanted);
        EXPECT_LE(samples_of_busiest_thread(pieces, threads), 2 * ideal)
            << batch_size << " on " << threads << ", wanted " << wanted;
      }
    }
  }
}

}  // namespace
}  // namespace tally::model
