// What some values add to the sums of a rank correlation.
#pragma once

#include <cstdint>
#include <span>

#include <tally/ordered_metrics/ranked_column.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::ordered_metrics {

// Centred ranks of one output's predictions and targets, one weight for each; canonical.
SpearmanSums spearman_partials(const Weights& weights, std::span<const std::int64_t> predictions,
                               std::span<const std::int64_t> targets);

}  // namespace tally::ordered_metrics
