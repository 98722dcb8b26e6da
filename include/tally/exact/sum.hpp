// SPDX-License-Identifier: Apache-2.0
// Adds floating-point values exactly, and splits a value into the pieces that it adds to a sum.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace tally::exact {

// What a floating-point value adds to the limbs of an exact sum, as integers: for code
// that does the adding itself. Everything is constexpr, so that it is the same on CPUs and GPUs.

inline constexpr int kLimbBits = 32;
inline constexpr std::int64_t kLimbMask = 0xffffffff;

// limbs[first_limb + i] += parts[i]
struct Pieces {
  static constexpr int kCount = 3;
  int first_limb = 0;
  std::int64_t parts[kCount] = {};
};

namespace detail {

// IEEE 754: sign, biased exponent, fraction. |value| = mantissa * 2^(position + lowest exponent):
// subnormals share position 0 with the smallest normal binade. The shifted mantissa lies in three
// limbs at most; the middle one receives less than 2^32, as the others do.
template <class Word>
constexpr Pieces pieces_of_word(Word word, int fraction_bits, int exponent_mask) {
  const std::uint64_t fraction = word & ((std::uint64_t{1} << fraction_bits) - 1);
  const int exponent = static_cast<int>(word >> fraction_bits) & exponent_mask;
  const bool normal = exponent != 0;
  const std::uint64_t mantissa = fraction | (std::uint64_t{normal} << fraction_bits);
  const int position = exponent - (normal ? 1 : 0);
  const int shift = position % kLimbBits;

  const std::uint64_t low = (mantissa & kLimbMask) << shift;
  const std::uint64_t high = ((mantissa >> kLimbBits) << shift) + (low >> kLimbBits);
  const std::int64_t sign = (word >> (sizeof(word) * 8 - 1)) != 0 ? -1 : 1;
  return {position / kLimbBits,
          {sign * static_cast<std::int64_t>(low & kLimbMask),
           sign * static_cast<std::int64_t>(high & kLimbMask),
           sign * static_cast<std::int64_t>(high >> kLimbBits)}};
}

}  // namespace detail

// Of finite values; of NaN and Inf they mean nothing.
constexpr Pieces pieces_of(float value) {
  return detail::pieces_of_word(std::bit_cast<std::uint32_t>(value), 23, 0xff);
}
constexpr Pieces pieces_of(double value) {
  return detail::pieces_of_word(std::bit_cast<std::uint64_t>(value), 52, 0x7ff);
}

// Canonical form: every limb but the last in [0, 2^32).
constexpr void carry(std::int64_t* limbs, std::int64_t count) {
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    limbs[i + 1] += limbs[i] >> kLimbBits;  // rounds down, also for negative limbs
    limbs[i] &= kLimbMask;
  }
}

// Exact sums of floating-point values as integers (a superaccumulator: Kulisch; Neal 2015).
//
// A sum is a row of limbs, each an int64 that stands for limb * 2^(32*i + lowest exponent). Adding
// a value touches at most three limbs and never rounds, so any order and any split give the same
// sum; in canonical form (every limb but the top in [0, 2^32)) equal sums are equal bits. Merging
// two sums is adding their limbs as integers.

enum class SumKind { float32, float64 };

// Limbs that hold 2^40 values of any magnitude of the type.
std::int64_t num_limbs(SumKind kind);

// Adds one value; Error(internal) if it is not finite. At most 2^30 adds may lie between two calls
// of canonicalise().
void add(std::span<std::int64_t> float32_limbs, float value);
void add(std::span<std::int64_t> float64_limbs, double value);

// Adds any number of values and leaves the limbs canonical: what a loop should use.
void add_all(std::span<std::int64_t> float32_limbs, std::span<const float> values);
void add_all(std::span<std::int64_t> float64_limbs, std::span<const double> values);

// Carries propagated: every limb but the top in [0, 2^32). Also right for merged sums.
void canonicalise(std::span<std::int64_t> limbs);
bool is_canonical(std::span<const std::int64_t> limbs);

// The sum rounded once to the nearest double (ties to even); canonical limbs. Overflow gives Inf.
double value(std::span<const std::int64_t> limbs, SumKind kind);

// The exact quotient sum / count rounded once (ties to even); canonical limbs, count > 0.
double mean(std::span<const std::int64_t> limbs, SumKind kind, std::int64_t count);

}  // namespace tally::exact
