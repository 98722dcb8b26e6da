// Floating-point numbers as integers of the same order, on CPUs and GPUs. Numbers are ordered as
// their sign and magnitude are; keys as integers are. One comparison of integers then takes the
// place of three that know of NaN, in twice as many lanes for 16 bits.
#pragma once

#include <limits>

namespace tally::model {

template <class Bits>
inline constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();

template <class Bits>
[[gnu::always_inline]] constexpr Bits flip_negative(Bits bits) {
  constexpr int kSignBit = std::numeric_limits<Bits>::digits;
  return static_cast<Bits>(bits ^ ((bits >> kSignBit) & kMagnitude<Bits>));
}

// Of a number, given as bits; `infinity` is the positive one of its type. That of NaN is the
// largest. flip_negative() gives the number back.
template <class Bits>
[[gnu::always_inline]] constexpr Bits key_of(Bits bits, Bits infinity) {
  const bool is_nan = static_cast<Bits>(bits & kMagnitude<Bits>) > infinity;
  return is_nan ? kMagnitude<Bits> : flip_negative(bits);
}

}  // namespace tally::model
