// Vectors of floats, as GCC writes registers down.
#pragma once

#include <cstdint>

namespace tally::model {

// So many floats in one register.
using EightLanes [[gnu::vector_size(32)]] = float;
using SixteenLanes [[gnu::vector_size(64)]] = float;

template <class Lanes>
constexpr std::int64_t kLanes = sizeof(Lanes) / sizeof(float);

// Anywhere in an array of floats. (Copied bytewise they would take twice the instructions.)
template <class Lanes>
[[gnu::always_inline]] inline void load(const float* from, Lanes& to) {
  using Anywhere [[gnu::aligned(alignof(float)), gnu::may_alias]] = Lanes;
  to = *reinterpret_cast<const Anywhere*>(from);
}

template <class Lanes>
[[gnu::always_inline]] inline void store(const Lanes& from, float* to) {
  using Anywhere [[gnu::aligned(alignof(float)), gnu::may_alias]] = Lanes;
  *reinterpret_cast<Anywhere*>(to) = from;
}

// Keeps NaN.
template <class Lanes>
[[gnu::always_inline]] inline Lanes relu(const Lanes& x) {
  const Lanes zero = {};
  return x < zero ? zero : x;
}

}  // namespace tally::model
