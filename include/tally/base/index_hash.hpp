// SPDX-License-Identifier: Apache-2.0
// Mixes a sample index to 64 bits. Sums of mixes are the evidence that each sample was seen exactly
// once: plain sums of indices are equal for {1, 2} and {0, 3}, sums of mixes are not.
#pragma once

#include <cstdint>

namespace tally {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014), a bijection of 64 bits.
constexpr std::uint64_t index_hash(std::uint64_t index) {
  std::uint64_t z = index + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace tally
