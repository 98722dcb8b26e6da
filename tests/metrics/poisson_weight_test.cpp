// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/poisson_weight.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

namespace tally::metrics {
namespace {

// Five standard errors of a mean of n values of this variance.
double bound(double variance, double n) { return 5 * std::sqrt(variance / n); }

TEST(PoissonWeights, HaveTheFrequenciesOfAPoissonDistribution) {
  constexpr int kDraws = 1 << 20;
  std::array<double, 21> found{};
  for (std::uint64_t replicate = 0; replicate < 64; ++replicate) {
    const PoissonWeights weights(7, replicate);
    for (std::uint64_t i = 0; i < kDraws / 64; ++i) {
      found.at(static_cast<std::size_t>(weights.of(i))) += 1.0 / kDraws;
    }
  }
  double expected = std::exp(-1.0);
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_NEAR(found[k], expected, bound(expected, kDraws)) << "weight " << k;
    expected /= static_cast<double>(k + 1);
  }
}

double correlation(const PoissonWeights& a, const PoissonWeights& b, std::uint64_t shift, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    sum += static_cast<double>((a.of(index) - 1) * (b.of(index + shift) - 1));
  }
  return sum / n;
}

TEST(PoissonWeights, OfSeedsReplicatesAndNeighboursAreIndependent) {
  constexpr int kDraws = 1 << 18;
  const PoissonWeights some(0, 0);
  const double near = bound(1, kDraws);
  EXPECT_NEAR(correlation(some, some, 0, kDraws), 1.0, bound(3, kDraws));
  EXPECT_NEAR(correlation(some, some, 1, kDraws), 0.0, near);
  EXPECT_NEAR(correlation(some, PoissonWeights(0, 1), 0, kDraws), 0.0, near);
  EXPECT_NEAR(correlation(some, PoissonWeights(0, 1), 1, kDraws), 0.0, near);
  EXPECT_NEAR(correlation(some, PoissonWeights(1, 0), 0, kDraws), 0.0, near);
}

TEST(PoissonWeights, AreTheSameForEver) {
  const PoissonWeights weights(42, 3);
  std::string found;
  for (std::uint64_t i = 0; i < 24; ++i) found += std::to_string(weights.of(i));
  EXPECT_EQ(found, "102111103000011010100210");
}

}  // namespace
}  // namespace tally::metrics
