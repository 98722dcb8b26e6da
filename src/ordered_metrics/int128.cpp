// SPDX-License-Identifier: Apache-2.0
#include "int128.hpp"

#include <cmath>

#include <tally/exact/sum.hpp>

namespace tally::ordered_metrics {

double rounded_ratio(Wide numerator, Wide denominator) {
  // Up to 2^53 both numbers are exact doubles, and the one rounding is that of their division.
  constexpr Wide kExactInDouble = Wide{1} << 53;
  if (denominator <= kExactInDouble) {
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  }
  if (numerator == 0) return 0;
  // Long division to 55 significant bits, the last of which stands for all that would follow: the
  // conversion then rounds as if it saw them all.
  std::uint64_t quotient = 0;
  Wide rest = numerator;
  int exponent = 0;
  if (rest == denominator) return 1;
  while (quotient >> 54 == 0) {
    rest *= 2;
    const bool bit = rest >= denominator;
    if (bit) rest -= denominator;
    quotient = 2 * quotient + (bit ? 1 : 0);
    ++exponent;
  }
  if (rest != 0) quotient |= 1;
  return std::ldexp(static_cast<double>(quotient), -exponent);
}

std::array<std::int64_t, 3> limbs_of(Wide value) {
  return {static_cast<std::int64_t>(value & exact::kLimbMask),
          static_cast<std::int64_t>((value >> exact::kLimbBits) & exact::kLimbMask),
          static_cast<std::int64_t>(value >> (2 * exact::kLimbBits))};
}

Wide int128_of(const std::array<std::int64_t, 3>& limbs) {
  constexpr Wide kBase = Wide{1} << exact::kLimbBits;
  return (limbs[2] * kBase + limbs[1]) * kBase + limbs[0];
}

}  // namespace tally::ordered_metrics
