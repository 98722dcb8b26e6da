// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/threshold_bins.hpp>

#include <bit>
#include <limits>

#include <gmock/gmock.h>

#include <tally/ordered_metrics/score_rows.hpp>

namespace tally::ordered_metrics {
namespace {

TEST(ScoreKey, OrdersByClassThenFromTheLargestScore) {
  const std::vector<float> descending{
      std::numeric_limits<float>::max(), 1, 0x1p-149F, 0, -0x1p-149F, -1,
      -std::numeric_limits<float>::max()};
  for (std::size_t i = 0; i < descending.size(); ++i) {
    EXPECT_EQ(score_of_key(score_key(3, descending[i])), descending[i]);
    EXPECT_EQ(class_of_key(score_key(3, descending[i])), 3u);
    EXPECT_LT(score_key(3, descending[i]), score_key(4, 1));
    if (i > 0) {
      EXPECT_LT(score_key(3, descending[i - 1]), score_key(3, descending[i]));
    }
  }
}

TEST(DistinctKeys, AreSortedAndFewHoweverOftenTheyCome) {
  DistinctKeys keys;
  for (std::uint64_t i = 0; i < 3'000'000; ++i) keys.add(i * 7919 % 1000);
  const auto sorted = keys.sorted();
  ASSERT_EQ(sorted.size(), 1000u);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(sorted[i], i);
}

TEST(NearestBfloat16, TiesToEven) {
  EXPECT_EQ(nearest_bfloat16(1), 1);
  EXPECT_EQ(nearest_bfloat16(1 + 0x1p-8F), 1);  // between 1 and 1 + 2^-7
  EXPECT_EQ(nearest_bfloat16(1 + 0x1p-8F + 0x1p-20F), 1 + 0x1p-7F);
  EXPECT_EQ(nearest_bfloat16(1 + 3 * 0x1p-8F), 1 + 0x1p-6F);
  EXPECT_EQ(nearest_bfloat16(-1 - 0x1p-8F), -1);
  EXPECT_EQ(nearest_bfloat16(0.1F), 0.10009765625F);
  EXPECT_EQ(nearest_bfloat16(0x1.fffffep-1F), 1);
}

TEST(NearestBfloat16, HasTheStatedNumberOfValuesBetweenZeroAndOne) {
  std::int64_t num_values = 0;
  for (std::uint32_t top = 0; top <= std::bit_cast<std::uint32_t>(1.0F) >> 16; ++top) {
    const auto value = std::bit_cast<float>(top << 16);
    EXPECT_EQ(nearest_bfloat16(value), value);
    ++num_values;
  }
  EXPECT_EQ(num_values, 16257);
}

}  // namespace
}  // namespace tally::ordered_metrics
