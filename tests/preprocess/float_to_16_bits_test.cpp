// SPDX-License-Identifier: Apache-2.0
#include "float_to_16_bits.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tally::preprocess {
namespace {

// The value of a finite float16, from its definition.
double value_of_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Float16, KeepsEveryValueItHas) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;  // Inf and NaN
    const auto word = static_cast<std::uint16_t>(bits);
    EXPECT_EQ(float16_bits(static_cast<float>(value_of_float16(word))), word) << bits;
  }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const auto middle =
        static_cast<float>((value_of_float16(low) + value_of_float16(high)) / 2);  // exact
    EXPECT_EQ(float16_bits(middle), low % 2 == 0 ? low : high) << bits;
    EXPECT_EQ(float16_bits(std::nextafter(middle, 0.0f)), low) << bits;
    EXPECT_EQ(float16_bits(std::nextafter(middle, 1e9f)), high) << bits;
    EXPECT_EQ(float16_bits(-middle), 0x8000 | float16_bits(middle));
  }
  EXPECT_EQ(float16_bits(65519.996f), 0x7bff);
  EXPECT_EQ(float16_bits(65520.0f), 0x7c00);
}

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const auto middle = std::bit_cast<float>(bits << 16 | 0x8000);
    EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(bits << 16)), bits);
    EXPECT_EQ(bfloat16_bits(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    EXPECT_EQ(bfloat16_bits(std::nextafter(middle, 0.0f)), bits) << bits;
    EXPECT_EQ(bfloat16_bits(std::nextafter(middle, 3.4e38f)), bits + 1) << bits;
    EXPECT_EQ(bfloat16_bits(-middle), 0x8000 | bfloat16_bits(middle));
  }
}

}  // namespace
}  // namespace tally::preprocess
