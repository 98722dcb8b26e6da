// SPDX-License-Identifier: Apache-2.0
// Reading: value() and mean() are the exact value rounded once, judged with rationals.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include <tally/base/error.hpp>
#include <tally/exact/sum.hpp>

#include "oracle.hpp"

namespace tally::exact {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The neighbour of a double in steps of its last bit; 2^1024 stands for Inf.
Fraction or_overflow(double value) {
  if (std::isfinite(value)) return exactly(value);
  const Fraction limit = exactly(std::ldexp(1.0, 1023)) * 2;
  return value > 0 ? limit : Fraction(-limit);
}

bool is_even(double value) { return (std::bit_cast<std::uint64_t>(value) & 1) == 0; }

// `rounded` is nearest to `exact`; on a tie its last bit is 0.
void expect_nearest(double rounded, const Fraction& exact) {
  const Fraction error = abs(exact - or_overflow(rounded));
  for (const double direction : {-kInf, kInf}) {
    const double neighbour = std::nextafter(rounded, direction);
    if (neighbour == rounded) continue;
    const Fraction other = abs(exact - or_overflow(neighbour));
    EXPECT_TRUE(error < other || (error == other && is_even(rounded)))
        << rounded << " against " << neighbour << " for " << exact;
  }
}

template <class Value>
void expect_rounded_once(const std::vector<Value>& values, std::int64_t count) {
  auto limbs = empty_sum<Value>();
  add_all(limbs, std::span<const Value>(values));
  const Fraction total = exact_total(values);
  expect_nearest(value(limbs, kKindOf<Value>), total);
  expect_nearest(mean(limbs, kKindOf<Value>, count), total / count);
}

template <class Value>
class Rounding : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(Rounding, Values);

TYPED_TEST(Rounding, IsNearestForRandomSums) {
  using Limits = std::numeric_limits<TypeParam>;
  std::mt19937_64 random(17);
  const int low = Limits::min_exponent - Limits::digits;
  std::uniform_int_distribution<int> start(low, Limits::max_exponent - 90);
  std::uniform_int_distribution<int> width(0, 90);
  std::uniform_int_distribution<std::int64_t> count(1, std::int64_t{1} << 62);
  for (unsigned trial = 0; trial < 300; ++trial) {
    const int lowest = start(random);
    const auto values =
        random_values<TypeParam>(random, 1 + trial % 9, lowest, lowest + width(random));
    expect_rounded_once(values, std::max<std::int64_t>(1, count(random) >> (trial % 62)));
  }
}

TYPED_TEST(Rounding, SurvivesCancellation) {
  std::mt19937_64 random(23);
  for (int trial = 0; trial < 100; ++trial) {
    auto values = random_values<TypeParam>(random, 6, 60, 100);
    for (std::size_t i = 0; i < 6; ++i) values.push_back(-values[i]);
    const auto rest = random_values<TypeParam>(random, 2, -140, -100);
    values.insert(values.end(), rest.begin(), rest.end());
    expect_rounded_once(values, 7);
  }
}

// Sums of powers of two around the 53rd bit: every tie, and every tie with a bit far below it.
TYPED_TEST(Rounding, BreaksTiesToEven) {
  const auto power = [](int exponent) { return static_cast<TypeParam>(std::ldexp(1.0, exponent)); };
  for (const TypeParam sign : {TypeParam(1), TypeParam(-1)}) {
    for (int odd = 0; odd < 2; ++odd) {
      for (const TypeParam sticky : {TypeParam(0), power(-140), -power(-140)}) {
        const std::vector<TypeParam> values{sign * power(20), sign * TypeParam(odd) * power(-32),
                                            sign * power(-33), sign * sticky};
        expect_rounded_once(values, 1);
        expect_rounded_once(values, 3);
      }
    }
  }
}

// Values of the whole range, from the smallest subnormal to the largest, each 2^40 times.
TYPED_TEST(Rounding, IsNearestForTwoToTheFortyTimesTheValues) {
  using Limits = std::numeric_limits<TypeParam>;
  std::mt19937_64 random(37);
  const int low = Limits::min_exponent - Limits::digits;
  for (unsigned trial = 0; trial < 20; ++trial) {
    auto values = random_values<TypeParam>(random, 30, low, Limits::max_exponent);
    if (trial % 2 == 0) values.push_back(Limits::max());
    auto limbs = empty_sum<TypeParam>();
    add_all(limbs, std::span<const TypeParam>(values));
    for (int doubling = 0; doubling < 40; ++doubling) {
      for (auto& limb : limbs) limb *= 2;
      canonicalise(limbs);
    }
    const Fraction total = exact_total(values);
    const auto count = std::int64_t{1} << 40;
    expect_nearest(mean(limbs, kKindOf<TypeParam>, 31 * count), total / 31);
    expect_nearest(mean(limbs, kKindOf<TypeParam>, 1000 * count - 1),
                   total * count / (1000 * count - 1));
  }
}

TYPED_TEST(Rounding, AnExactQuotientIsExact) {
  auto limbs = empty_sum<TypeParam>();
  for (int i = 0; i < 7; ++i) add(limbs, TypeParam(0.1));
  canonicalise(limbs);

  EXPECT_EQ(mean(limbs, kKindOf<TypeParam>, 7), static_cast<double>(TypeParam(0.1)));
}

TYPED_TEST(Rounding, NothingIsZero) {
  const auto limbs = empty_sum<TypeParam>();
  EXPECT_EQ(value(limbs, kKindOf<TypeParam>), 0.0);
  EXPECT_FALSE(std::signbit(value(limbs, kKindOf<TypeParam>)));
}

TYPED_TEST(Rounding, RefusesWhatIsNotReady) {
  auto limbs = empty_sum<TypeParam>();
  EXPECT_THROW(mean(limbs, kKindOf<TypeParam>, 0), Error);
  add(limbs, TypeParam(-1));
  EXPECT_THROW(value(limbs, kKindOf<TypeParam>), Error) << "not canonical";
  limbs.pop_back();
  EXPECT_THROW(value(limbs, kKindOf<TypeParam>), Error) << "wrong length";
}

TEST(RoundingOfDoubles, SubnormalSumsAndQuotients) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const std::int64_t count : {1, 2, 3, 4, 5, 6, 7, 1000}) {
    for (int copies = 1; copies <= 9; ++copies) {
      const std::vector<double> values(static_cast<std::size_t>(copies), -tiny);
      expect_rounded_once(values, count);
    }
    expect_rounded_once(std::vector<double>{std::numeric_limits<double>::min(), -tiny}, count);
  }
}

// 1 / count just above a / 2^115 with a of 54 bits and odd: a tie but for what is left over when
// the division ends.
TEST(RoundingOfFloats, WhatIsLeftOfTheDivisionBreaksTies) {
  std::mt19937_64 random(31);
  std::uniform_int_distribution<std::int64_t> halves(std::int64_t{1} << 52,
                                                     (std::int64_t{1} << 53) - 1);
  const std::vector<float> values{std::numeric_limits<float>::denorm_min()};
  for (int trial = 0; trial < 500; ++trial) {
    const boost::multiprecision::cpp_int odd = 2 * halves(random) + 1;
    const boost::multiprecision::cpp_int count = (boost::multiprecision::cpp_int(1) << 115) / odd;
    expect_rounded_once(values, count.convert_to<std::int64_t>());
  }
}

// 2^60 / (2^61 ± 1) of the smallest double lies beside a half by less than 53 bits can show:
// whoever rounds to 53 bits first and to a subnormal then sees a tie.
TEST(RoundingOfDoubles, SubnormalsAreNotRoundedTwice) {
  for (const double halves : {1.0, 3.0, 5.0}) {
    const std::vector<double> values{std::ldexp(halves, 60 - 1074)};
    expect_rounded_once(values, (std::int64_t{1} << 61) - 1);
    expect_rounded_once(values, (std::int64_t{1} << 61) + 1);
  }
}

TEST(RoundingOfDoubles, OverflowIsInf) {
  const double most = std::numeric_limits<double>::max();
  auto limbs = empty_sum<double>();
  add(limbs, most);
  add(limbs, std::ldexp(1.0, 969));  // below half of the last bit
  canonicalise(limbs);
  EXPECT_EQ(value(limbs, SumKind::float64), most);

  add(limbs, std::ldexp(1.0, 969));  // now exactly half: to even, which is 2^1024
  canonicalise(limbs);
  EXPECT_EQ(value(limbs, SumKind::float64), kInf);
  EXPECT_EQ(mean(limbs, SumKind::float64, 2), std::ldexp(1.0, 1023));

  for (int i = 0; i < 3; ++i) add(limbs, -most);
  canonicalise(limbs);
  EXPECT_EQ(value(limbs, SumKind::float64), -kInf);
}

}  // namespace
}  // namespace tally::exact
