#include <tally/ordered_metrics/spearman.hpp>

#include <algorithm>
#include <cmath>

#include "int128.hpp"

namespace tally::ordered_metrics {

std::optional<double> spearman(const SpearmanSums& sums) {
  const auto predictions = static_cast<double>(int128_of(sums.predictions));
  const auto targets = static_cast<double>(int128_of(sums.targets));
  if (predictions == 0 || targets == 0) return std::nullopt;
  const auto products = static_cast<double>(int128_of(sums.products));
  return std::clamp(products / std::sqrt(predictions * targets), -1.0, 1.0);
}

std::optional<double> mean_spearman(std::span<const SpearmanSums> outputs) {
  double sum = 0;
  for (const SpearmanSums& of_output : outputs) {
    const auto value = spearman(of_output);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(outputs.size());
}

}  // namespace tally::ordered_metrics
