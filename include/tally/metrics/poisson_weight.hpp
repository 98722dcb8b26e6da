// SPDX-License-Identifier: Apache-2.0
// Draws how often a sample occurs in a replicate of the bootstrap: a Poisson(1) number that depends
// on seed, replicate and global sample index alone, hence on no rank, no batch and no order.
//
// Poisson weights stand for drawing with replacement where no one knows N (Oza and Russell 2001;
// Chamandy et al. 2012, "Estimating uncertainty for massive data streams").
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <tally/base/index_hash.hpp>

namespace tally::metrics {

namespace detail {

// Entry k: P(weight <= k) * 2^64, for k up to 19; beyond it doubles know no difference from 1.
constexpr std::array<std::uint64_t, 20> poisson_thresholds() {
  constexpr double kInverseE = 0.36787944117144233;
  std::array<std::uint64_t, 20> thresholds{};
  double term = kInverseE;
  double sum = 0;
  for (std::size_t k = 0; k < thresholds.size(); ++k) {
    if (k > 0) term /= static_cast<double>(k);
    sum += term;
    thresholds[k] = sum >= 1.0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(sum * 0x1p64);
  }
  return thresholds;
}
inline constexpr auto kPoissonThresholds = poisson_thresholds();

}  // namespace detail

// One replicate's weights.
class PoissonWeights {
 public:
  constexpr PoissonWeights(std::uint64_t seed, std::uint64_t replicate)
      : key_(index_hash(index_hash(seed) + replicate)) {}

  // Of the sample with this global index; mean 1, variance 1, at most 20.
  constexpr std::int64_t of(std::uint64_t index) const {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;  // SplitMix64's step
    const std::uint64_t uniform = index_hash(key_ + index * kGolden);
    std::int64_t weight = 0;
    for (const std::uint64_t threshold : detail::kPoissonThresholds) {
      if (uniform < threshold) break;
      ++weight;
    }
    return weight;
  }

  // Of samples first_index and on.
  constexpr void fill(std::uint64_t first_index, std::span<std::uint8_t> weights) const {
    for (std::uint8_t& weight : weights) weight = static_cast<std::uint8_t>(of(first_index++));
  }

 private:
  std::uint64_t key_;
};

}  // namespace tally::metrics
