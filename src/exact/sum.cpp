#include <tally/exact/sum.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>

#include <tally/base/error.hpp>

#include "limbs.hpp"

namespace tally::exact {
namespace {

// IEEE 754: sign, biased exponent, fraction.
struct Float32Bits {
  using Word = std::uint32_t;
  static constexpr int kFractionBits = 23;
  static constexpr int kExponentMask = 0xff;
};
struct Float64Bits {
  using Word = std::uint64_t;
  static constexpr int kFractionBits = 52;
  static constexpr int kExponentMask = 0x7ff;
};

// |value| = mantissa * 2^(position + lowest exponent): subnormals share position 0 with the
// smallest normal binade. The shifted mantissa lies in three limbs at most; the middle one receives
// less than 2^32, as the others do.
template <class Bits, class Value>
void add_value(std::span<std::int64_t> limbs, Value value) {
  const auto word = std::bit_cast<typename Bits::Word>(value);
  const std::uint64_t fraction = word & ((std::uint64_t{1} << Bits::kFractionBits) - 1);
  const int exponent = static_cast<int>(word >> Bits::kFractionBits) & Bits::kExponentMask;
  if (exponent == Bits::kExponentMask) {
    throw Error(ErrorKind::internal, "NaN or Inf was added to an exact sum");
  }
  const bool normal = exponent != 0;
  const std::uint64_t mantissa = fraction | (std::uint64_t{normal} << Bits::kFractionBits);
  const int position = exponent - (normal ? 1 : 0);
  const int shift = position % kLimbBits;

  const std::uint64_t low = (mantissa & kLimbMask) << shift;
  const std::uint64_t high = ((mantissa >> kLimbBits) << shift) + (low >> kLimbBits);
  const std::int64_t parts[] = {static_cast<std::int64_t>(low & kLimbMask),
                                static_cast<std::int64_t>(high & kLimbMask),
                                static_cast<std::int64_t>(high >> kLimbBits)};
  const std::int64_t sign = (word >> (sizeof(word) * 8 - 1)) != 0 ? -1 : 1;
  std::int64_t* at = &limbs[static_cast<std::size_t>(position / kLimbBits)];
  for (int i = 0; i < 3; ++i) at[i] += sign * parts[i];
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
  constexpr int kCountBits = 40;
  constexpr int kSignBits = 1;
  const int bits = highest_exponent(kind) - lowest_exponent(kind) + kCountBits + kSignBits;
  return (bits + kLimbBits - 1) / kLimbBits;
}

void add(std::span<std::int64_t> float32_limbs, float value) {
  add_value<Float32Bits>(float32_limbs, value);
}

void add(std::span<std::int64_t> float64_limbs, double value) {
  add_value<Float64Bits>(float64_limbs, value);
}

void add_all(std::span<std::int64_t> float32_limbs, std::span<const float> values) {
  add_values(float32_limbs, values);
}

void add_all(std::span<std::int64_t> float64_limbs, std::span<const double> values) {
  add_values(float64_limbs, values);
}

void canonicalise(std::span<std::int64_t> limbs) {
  for (std::size_t i = 0; i + 1 < limbs.size(); ++i) {
    limbs[i + 1] += limbs[i] >> kLimbBits;  // rounds down, also for negative limbs
    limbs[i] &= kLimbMask;
  }
}

bool is_canonical(std::span<const std::int64_t> limbs) {
  return limbs.empty() || std::all_of(limbs.begin(), limbs.end() - 1, [](std::int64_t limb) {
           return limb >= 0 && limb <= kLimbMask;
         });
}

}  // namespace tally::exact
