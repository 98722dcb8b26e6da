// SPDX-License-Identifier: Apache-2.0
// float32 rounded to the 16-bit formats, to nearest with ties to even, as hardware and torch do.
#pragma once

#include <bit>
#include <cstdint>

namespace tally::preprocess {

// Of finite values; what is too large becomes Inf.
constexpr std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half_or_less = 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>((bits + half_or_less) >> 16);
}

constexpr std::uint16_t float16_bits(float value) {
  constexpr std::uint32_t kInf = 0x7c00;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= std::bit_cast<std::uint32_t>(65520.0f)) {
    return static_cast<std::uint16_t>(sign | kInf);
  }
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-14f)) {
    // Subnormal: added to a number whose last bit has its unit, the value is rounded to that unit.
    constexpr float kUnit = 0x1p-24f * 0x1p23f;
    const float rounded = std::bit_cast<float>(magnitude) + kUnit;
    return static_cast<std::uint16_t>(
        sign | (std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(kUnit)));
  }
  constexpr std::uint32_t kBias = (127 - 15) << 23;
  const std::uint32_t half_or_less = 0xfff + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((magnitude - kBias + half_or_less) >> 13));
}

}  // namespace tally::preprocess
