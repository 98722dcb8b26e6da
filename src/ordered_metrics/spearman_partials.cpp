#include <tally/ordered_metrics/spearman_partials.hpp>

#include "int128.hpp"

namespace tally::ordered_metrics {

SpearmanSums spearman_partials(const Weights& weights, std::span<const std::int64_t> predictions,
                               std::span<const std::int64_t> targets) {
  SpearmanSums share;
  Wide of_predictions = 0;
  Wide of_targets = 0;
  Wide of_products = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    share.count += weights[i];
    of_predictions += Wide{predictions[i]} * predictions[i] * weights[i];
    of_targets += Wide{targets[i]} * targets[i] * weights[i];
    of_products += Wide{predictions[i]} * targets[i] * weights[i];
  }
  share.predictions = limbs_of(of_predictions);
  share.targets = limbs_of(of_targets);
  share.products = limbs_of(of_products);
  return share;
}

}  // namespace tally::ordered_metrics
