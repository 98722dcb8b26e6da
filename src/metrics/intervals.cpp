// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/intervals.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tally::metrics {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // of 0.975
constexpr double kTail = 0.025;

// Interpolates linearly between the two nearest values: type 7 of Hyndman and Fan, which is the
// default of numpy.percentile.
double percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

std::optional<double> Proportion::value() const {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Unlike p +- z sqrt(p (1 - p) / n) it holds for few samples and near 0 and 1. scipy has it as
// binomtest(...).proportion_ci(method="wilson").
std::optional<Interval> wilson(const Proportion& proportion) {
  if (proportion.whole == 0) return std::nullopt;
  const auto n = static_cast<double>(proportion.whole);
  const double p = static_cast<double>(proportion.part) / n;
  const double z2 = kNormalQuantile * kNormalQuantile;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      kNormalQuantile * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  // At 0 and 1 the bounds are exactly these; rounding shall not move them.
  const double low = proportion.part == 0 ? 0.0 : std::max(0.0, middle - half);
  const double high = proportion.part == proportion.whole ? 1.0 : std::min(1.0, middle + half);
  return Interval{low, high, "wilson"};
}

std::optional<Interval> percentile_interval(std::span<const double> values,
                                            std::int64_t num_replicates) {
  const std::int64_t defined = std::ssize(values);
  // Replicates that leave the metric undefined are not like the rest, so where they are many an
  // interval of the others would be biased.
  if (defined < 2 || defined * 20 < num_replicates * 19) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return Interval{percentile(sorted, kTail), percentile(sorted, 1 - kTail), "bootstrap"};
}

}  // namespace tally::metrics
