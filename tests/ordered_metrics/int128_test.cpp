// SPDX-License-Identifier: Apache-2.0
#include "int128.hpp"

#include <random>

#include <gtest/gtest.h>

namespace tally::ordered_metrics {
namespace {

TEST(RoundedRatio, OfSmallIntegersIsTheirQuotient) {
  EXPECT_EQ(rounded_ratio(1, 3), 1.0 / 3.0);
  EXPECT_EQ(rounded_ratio(0, 7), 0.0);
  EXPECT_EQ(rounded_ratio(7, 7), 1.0);
}

// A common factor changes no quotient, so the hardware's division of what is left is the oracle.
TEST(RoundedRatio, OfWideIntegersIsRoundedOnce) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<int>(random() % 53) + 1;
    const auto denominator = static_cast<std::int64_t>(random() >> (64 - bits)) + 1;
    const auto numerator =
        static_cast<std::int64_t>(random() % 5 == 0 ? random() % 3 : random()) & 0x7fffffffffffffff;
    const std::int64_t part = numerator % (denominator + 1);
    const auto factor = static_cast<std::int64_t>(random() >> 1 | 1);
    EXPECT_EQ(rounded_ratio(Wide{part} * factor, Wide{denominator} * factor),
              static_cast<double>(part) / static_cast<double>(denominator))
        << part << " / " << denominator;
  }
}

TEST(RoundedRatio, TiesGoToEven) {
  const Wide denominator = Wide{1} << 90;
  const Wide half_unit = Wide{1} << (90 - 54);  // of doubles in [1/2, 1)
  EXPECT_EQ(rounded_ratio(denominator / 2 + half_unit, denominator), 0.5);
  EXPECT_EQ(rounded_ratio(denominator / 2 + half_unit + 1, denominator), 0.5 + 0x1p-53);
  EXPECT_EQ(rounded_ratio(denominator / 2 + 3 * half_unit, denominator), 0.5 + 0x1p-52);
  EXPECT_EQ(rounded_ratio(denominator / 2 + 3 * half_unit - 1, denominator), 0.5 + 0x1p-53);
}

TEST(Limbs, StandForTheSameIntegerAndAddUp) {
  for (const Wide value : {Wide{0}, Wide{1}, Wide{-1}, Wide{1} << 122, -(Wide{1} << 122) + 12345}) {
    const auto limbs = limbs_of(value);
    EXPECT_TRUE(int128_of(limbs) == value);
    EXPECT_EQ(limbs[0] >> 32, 0);
    EXPECT_EQ(limbs[1] >> 32, 0);
    auto twice = limbs;
    for (std::size_t i = 0; i < 3; ++i) twice[i] += limbs[i];
    EXPECT_TRUE(int128_of(twice) == 2 * value);
  }
}

}  // namespace
}  // namespace tally::ordered_metrics
