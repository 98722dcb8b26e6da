// SPDX-License-Identifier: Apache-2.0
#include <tally/exact/sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <tally/base/error.hpp>
#include <tally/exact/rational.hpp>

#include "float_exponent_limits.hpp"

namespace tally::exact {
namespace {

template <class Value>
void add_value(std::span<std::int64_t> limbs, Value value) {
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::internal, "NaN or Inf was added to an exact sum");
  }
  // A limb receives less than 2^32 in absolute value from each add, so an int64 bears 2^30 of them
  // on top of a canonical limb.
  const Pieces pieces = pieces_of(value);
  std::int64_t* const at = &limbs[static_cast<std::size_t>(pieces.first_limb)];
  for (int i = 0; i < Pieces::kCount; ++i) at[i] += pieces.parts[i];
}

template <class Value>
void add_values(std::span<std::int64_t> limbs, std::span<const Value> values) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;  // far below the 2^30 adds that limbs bear
  for (std::size_t first = 0; first < values.size(); first += kChunk) {
    const auto chunk = values.subspan(first, std::min(kChunk, values.size() - first));
    for (const Value value : chunk) add(limbs, value);
    canonicalise(limbs);
  }
}

}  // namespace

std::int64_t num_limbs(SumKind kind) {
  // 2^40 values of the largest magnitude, of either sign, must fit: 10 limbs for float32, 67 for
  // float64.
  constexpr int kCountBits = 40;
  constexpr int kSignBits = 1;
  const int bits = highest_exponent(kind) - lowest_exponent(kind) + kCountBits + kSignBits;
  return (bits + kLimbBits - 1) / kLimbBits;
}

void add(std::span<std::int64_t> float32_limbs, float value) { add_value(float32_limbs, value); }

void add(std::span<std::int64_t> float64_limbs, double value) { add_value(float64_limbs, value); }

void add_all(std::span<std::int64_t> float32_limbs, std::span<const float> values) {
  add_values(float32_limbs, values);
}

void add_all(std::span<std::int64_t> float64_limbs, std::span<const double> values) {
  add_values(float64_limbs, values);
}

void canonicalise(std::span<std::int64_t> limbs) { carry(limbs.data(), std::ssize(limbs)); }

bool is_canonical(std::span<const std::int64_t> limbs) {
  return limbs.empty() || std::all_of(limbs.begin(), limbs.end() - 1, [](std::int64_t limb) {
           return limb >= 0 && limb <= kLimbMask;
         });
}

double mean(std::span<const std::int64_t> limbs, SumKind kind, std::int64_t count) {
  if (count <= 0) throw Error(ErrorKind::internal, "a mean of fewer than 1 value");
  return (Rational(limbs, kind) / Rational(count)).to_double();
}

double value(std::span<const std::int64_t> limbs, SumKind kind) {
  return Rational(limbs, kind).to_double();
}

}  // namespace tally::exact
