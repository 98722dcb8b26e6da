// SPDX-License-Identifier: Apache-2.0
// Adding: the limbs hold exactly the sum, whatever the order and the split.
#include <tally/exact/sum.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include <tally/base/error.hpp>

#include "oracle.hpp"

namespace tally::exact {
namespace {

template <class Value>
class Sum : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(Sum, Values);

template <class Value>
Fraction held(const std::vector<std::int64_t>& limbs) {
  Fraction total = 0;
  for (std::size_t i = limbs.size(); i-- > 0;) total = total * 4294967296 + limbs[i];
  return total * exactly(std::ldexp(1.0, std::is_same_v<Value, float> ? -149 : -1074));
}

// Shuffles, cuts into `parts` pieces, sums each, merges them in random order.
template <class Value>
std::vector<std::int64_t> sum_in_parts(std::vector<Value> values, std::size_t parts,
                                       std::mt19937_64& random) {
  std::shuffle(values.begin(), values.end(), random);
  std::vector<std::vector<std::int64_t>> sums(parts, empty_sum<Value>());
  std::uniform_int_distribution<std::size_t> owner(0, parts - 1);
  for (const Value value : values) add(sums[owner(random)], value);
  std::shuffle(sums.begin(), sums.end(), random);
  auto merged = empty_sum<Value>();
  for (auto& part : sums) {
    canonicalise(part);
    std::transform(merged.begin(), merged.end(), part.begin(), merged.begin(), std::plus<>());
  }
  canonicalise(merged);
  return merged;
}

TYPED_TEST(Sum, HoldsEveryKindOfValueExactly) {
  using Limits = std::numeric_limits<TypeParam>;
  const TypeParam cases[] = {
      TypeParam(0),  TypeParam(-0.0),  TypeParam(1),         TypeParam(-1.5),
      Limits::min(), -Limits::min(),   Limits::denorm_min(), -Limits::denorm_min(),
      Limits::max(), Limits::lowest(), Limits::epsilon(),    Limits::min() - Limits::denorm_min()};
  for (const TypeParam value : cases) {
    auto limbs = empty_sum<TypeParam>();
    add(limbs, value);
    EXPECT_EQ(held<TypeParam>(limbs), exactly(value)) << value;
    canonicalise(limbs);
    EXPECT_EQ(held<TypeParam>(limbs), exactly(value)) << value;
    EXPECT_TRUE(is_canonical(limbs)) << value;
  }
}

TYPED_TEST(Sum, IsTheSameBitsForAnyOrderAndAnySplit) {
  using Limits = std::numeric_limits<TypeParam>;
  std::mt19937_64 random(11);
  const int low = Limits::min_exponent - Limits::digits;
  for (int trial = 0; trial < 30; ++trial) {
    const int high = trial % 2 == 0 ? Limits::max_exponent : low + 60;
    const auto values = random_values<TypeParam>(random, 200, low, high);
    auto limbs = empty_sum<TypeParam>();
    for (const TypeParam value : values) add(limbs, value);
    canonicalise(limbs);
    EXPECT_EQ(held<TypeParam>(limbs), exact_total(values));
    for (const std::size_t parts : {1u, 2u, 3u, 17u, 300u}) {
      EXPECT_EQ(sum_in_parts(values, parts, random), limbs) << parts << " parts";
    }
  }
}

TYPED_TEST(Sum, CancelsToNothing) {
  std::mt19937_64 random(3);
  auto values = random_values<TypeParam>(random, 500, -120, 120);
  const auto half = values;
  for (const TypeParam value : half) values.push_back(-value);

  EXPECT_EQ(sum_in_parts(values, 7, random), empty_sum<TypeParam>());
}

TYPED_TEST(Sum, AddAllIsAddForEach) {
  std::mt19937_64 random(5);
  const auto values = random_values<TypeParam>(random, 1000, -100, 100);
  auto one_by_one = empty_sum<TypeParam>();
  for (const TypeParam value : values) add(one_by_one, value);
  canonicalise(one_by_one);
  auto at_once = empty_sum<TypeParam>();

  add_all(at_once, std::span<const TypeParam>(values));

  EXPECT_EQ(at_once, one_by_one);
}

TYPED_TEST(Sum, RefusesWhatIsNotFinite) {
  using Limits = std::numeric_limits<TypeParam>;
  auto limbs = empty_sum<TypeParam>();
  EXPECT_THROW(add(limbs, Limits::quiet_NaN()), Error);
  EXPECT_THROW(add(limbs, Limits::infinity()), Error);
  EXPECT_THROW(add(limbs, -Limits::infinity()), Error);
  EXPECT_EQ(limbs, empty_sum<TypeParam>());
}

// Stands for 2^40 adds of the largest value: doubled 40 times, as a merge of equal parts does.
TYPED_TEST(Sum, HoldsTwoToTheFortyOfTheLargestValues) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam value : {Limits::max(), Limits::lowest()}) {
    auto limbs = empty_sum<TypeParam>();
    add(limbs, value);
    for (int i = 0; i < 40; ++i) {
      for (auto& limb : limbs) limb *= 2;
      canonicalise(limbs);
    }
    EXPECT_EQ(held<TypeParam>(limbs), exactly(value) * exactly(std::ldexp(1.0, 40)));
  }
}

// Then 2^30 adds and what a carry leaves, below 2^32, stay below 2^63 in every limb.
TYPED_TEST(Sum, OneAddPutsLessThanTwoToTheThirtyTwoIntoALimb) {
  const auto full = TypeParam(2) - std::numeric_limits<TypeParam>::epsilon();  // all ones
  for (int exponent = -70; exponent < 70; ++exponent) {
    auto limbs = empty_sum<TypeParam>();
    add(limbs, std::ldexp(full, exponent));
    EXPECT_LT(*std::max_element(limbs.begin(), limbs.end()), std::int64_t{1} << 32);
    EXPECT_GE(*std::min_element(limbs.begin(), limbs.end()), 0);
  }
}

}  // namespace
}  // namespace tally::exact
