// SPDX-License-Identifier: Apache-2.0
// Exact rationals to judge the sums by, and the values to feed them.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/exact/sum.hpp>

namespace tally::exact {

using Fraction = boost::multiprecision::cpp_rational;

template <class Value>
inline constexpr SumKind kKindOf =
    std::is_same_v<Value, float> ? SumKind::float32 : SumKind::float64;

template <class Value>
std::vector<std::int64_t> empty_sum() {
  return std::vector<std::int64_t>(to_size(num_limbs(kKindOf<Value>)));
}

// Any finite double as it is: mantissa * 2^exponent.
inline Fraction exactly(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  boost::multiprecision::cpp_int numerator(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
  boost::multiprecision::cpp_int denominator = 1;
  exponent -= 53;
  if (exponent > 0) {
    numerator <<= static_cast<unsigned>(exponent);
  } else {
    denominator <<= static_cast<unsigned>(-exponent);
  }
  return {numerator, denominator};
}

template <class Value>
Fraction exact_total(const std::vector<Value>& values) {
  Fraction total = 0;
  for (const Value value : values) total += exactly(value);
  return total;
}

// Random signs and mantissas, exponents uniform in [lowest, highest]; subnormals where they fall.
template <class Value>
std::vector<Value> random_values(std::mt19937_64& random, std::size_t count, int lowest,
                                 int highest) {
  std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
  std::uniform_int_distribution<int> exponent(lowest, highest);
  std::vector<Value> values(count);
  for (Value& value : values) {
    value = static_cast<Value>(std::ldexp(mantissa(random), exponent(random)));
  }
  return values;
}

}  // namespace tally::exact
