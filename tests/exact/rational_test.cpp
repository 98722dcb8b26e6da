// SPDX-License-Identifier: Apache-2.0
// Arithmetic after the sums, judged with Boost's fractions.
#include <tally/exact/rational.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include <tally/base/error.hpp>

#include "oracle.hpp"

namespace tally::exact {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A number and what it must be.
struct Pair {
  Rational number;
  Fraction fraction;
};

template <class Value>
Pair sum_of(const std::vector<Value>& values) {
  auto limbs = empty_sum<Value>();
  add_all(limbs, std::span<const Value>(values));
  return {Rational(limbs, kKindOf<Value>), exact_total(values)};
}

// The double nearest to a fraction, found by stepping from Boost's own rounding.
bool is_nearest(double rounded, const Fraction& fraction) {
  const Fraction error = abs(fraction - exactly(rounded));
  const bool even = (std::bit_cast<std::uint64_t>(rounded) & 1) == 0;
  for (const double direction : {-kInf, kInf}) {
    const Fraction other = abs(fraction - exactly(std::nextafter(rounded, direction)));
    if (other < error || (other == error && !even)) return false;
  }
  return true;
}

// Whether `root` is nearest to the square root of a fraction: halfway to its neighbours lies
// beyond.
bool is_nearest_root(double root, const Fraction& fraction) {
  const Fraction below = (exactly(root) + exactly(std::nextafter(root, 0.0))) / 2;
  const Fraction above = (exactly(root) + exactly(std::nextafter(root, kInf))) / 2;
  return below * below <= fraction && fraction <= above * above;
}

void expect_same(const Rational& number, const Fraction& fraction) {
  EXPECT_EQ(number.sign(), fraction.sign()) << fraction;
  EXPECT_TRUE(is_nearest(number.to_double(), fraction))
      << number.to_double() << " for " << fraction;
}

template <class Value>
class RationalOf : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(RationalOf, Values);

TYPED_TEST(RationalOf, SumsCalculatesAsFractionsDo) {
  using Limits = std::numeric_limits<TypeParam>;
  std::mt19937_64 random(41);
  const int low = Limits::min_exponent - Limits::digits;
  // Products of two sums must be doubles, or rounding has no neighbours to be judged by.
  const int most = std::min(Limits::max_exponent, 300) - 20;
  const int least = std::max(low, -300);
  std::uniform_int_distribution<int> start(least, most - 60);
  std::uniform_int_distribution<std::int64_t> count(1, std::int64_t{1} << 40);
  for (unsigned trial = 0; trial < 200; ++trial) {
    const int lowest = start(random);
    const int highest = trial % 2 == 0 ? most : lowest + 60;
    const Pair a = sum_of(random_values<TypeParam>(random, 1 + trial % 7, lowest, highest));
    const Pair b = sum_of(random_values<TypeParam>(random, 1 + trial % 5, lowest, highest));
    const std::int64_t n = count(random);
    expect_same(a.number + b.number, a.fraction + b.fraction);
    expect_same(a.number - b.number, a.fraction - b.fraction);
    expect_same(a.number * b.number, a.fraction * b.fraction);
    expect_same(a.number / n - b.number, a.fraction / n - b.fraction);
    if (!b.number.is_zero()) expect_same(a.number / b.number, a.fraction / b.fraction);
    EXPECT_EQ(a.number < b.number, a.fraction < b.fraction);
    EXPECT_EQ(a.number == b.number, a.fraction == b.fraction);
    const double root = (a.number * a.number / n).sqrt_to_double();
    EXPECT_TRUE(is_nearest_root(root, a.fraction * a.fraction / n)) << root;
  }
}

// n * sum of squares - (sum)^2 of values far from 0 that hardly differ.
TEST(Rational, VariancesSurviveCancellation) {
  std::mt19937_64 random(43);
  std::normal_distribution<float> noise(0.0f, 8.0f);
  for (const float offset : {1e8f, -3e15f, 1e30f}) {
    std::vector<float> values(50);
    std::vector<double> squares;
    for (float& value : values) {
      value = offset * (1.0f + 1e-7f * noise(random));
      squares.push_back(double{value} * value);
    }
    const Pair sum = sum_of(values);
    const Pair square = sum_of(squares);
    const std::int64_t n = 50;
    expect_same(n * square.number - sum.number * sum.number,
                n * square.fraction - sum.fraction * sum.fraction);
  }
}

TEST(Rational, AreEqualHoweverTheyAreWritten) {
  const Rational third = Rational(1) / 3;
  EXPECT_EQ(third, Rational(5) / 15);
  EXPECT_EQ(third + third + third, 1);
  EXPECT_EQ(Rational(-6) / -4, Rational(3) / 2);
  EXPECT_LT(Rational(1) / -3, Rational());
  EXPECT_EQ(Rational(7) - 7, Rational());
  EXPECT_GT(Rational(std::numeric_limits<std::int64_t>::max()), third);
  EXPECT_EQ(Rational(std::numeric_limits<std::int64_t>::min()).to_double(), -0x1p63);
}

TEST(Rational, RoundsPowersBeyondDoubles) {
  Rational large(1);
  for (int i = 0; i < 1100; ++i) large = large * 2;
  EXPECT_EQ(large.to_double(), kInf);
  EXPECT_EQ((Rational(-1) * large).to_double(), -kInf);
  EXPECT_EQ((1 / large).to_double(), 0.0);
  EXPECT_EQ(large.sqrt_to_double(), 0x1p550);
  EXPECT_EQ((1 / large).sqrt_to_double(), 0x1p-550);
  // 3/2 of the smallest double is a tie, to even; a little less is not.
  Rational tie(3);
  for (int i = 0; i < 1075; ++i) tie = tie / 2;
  EXPECT_EQ(tie.to_double(), 0x1p-1073);
  EXPECT_EQ((tie * 999999 / 1000000).to_double(), 0x1p-1074);
}

TEST(Rational, SquareRootsAreExactWhereTheyCanBe) {
  EXPECT_EQ((Rational(9) / 16).sqrt_to_double(), 0.75);
  EXPECT_EQ(Rational(2).sqrt_to_double(), std::sqrt(2.0));
  EXPECT_EQ(Rational().sqrt_to_double(), 0.0);
}

// Half a bit more than a double has is a tie, to even. A little more than that is none, whether the
// division leaves it or the root does.
TEST(Rational, WhatIsLeftOfARootBreaksTies) {
  const Rational tie = Rational((std::int64_t{1} << 53) + 1);
  Rational least(1);
  for (int i = 0; i < 300; ++i) least = least / 2;
  EXPECT_EQ((tie * tie).sqrt_to_double(), 0x1p53);
  EXPECT_EQ((tie * tie + least).sqrt_to_double(), 0x1p53 + 2);
  EXPECT_EQ((tie * tie + least / 3).sqrt_to_double(), 0x1p53 + 2);
  EXPECT_EQ((tie * tie - least / 3).sqrt_to_double(), 0x1p53);
}

TEST(Rational, RefusesWhatHasNoValue) {
  EXPECT_THROW(Rational(1) / Rational(), Error);
  EXPECT_THROW(Rational(-1).sqrt_to_double(), Error);
  auto limbs = empty_sum<float>();
  EXPECT_THROW(Rational(limbs, SumKind::float64), Error) << "of another kind";
  add(limbs, -1.0f);
  EXPECT_THROW(Rational(limbs, SumKind::float32), Error) << "not canonical";
}

}  // namespace
}  // namespace tally::exact
