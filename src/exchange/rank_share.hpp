// What some values add to the sums of a rank correlation.
#pragma once

#include <cstdint>
#include <span>

#include <tally/exchange/rank_correlation.hpp>

#include "ranked_column.hpp"

namespace tally::exchange {

// Centred ranks of one output's predictions and targets, one weight for each; canonical.
RankSums share_of(const Weights& weights, std::span<const std::int64_t> predictions,
                  std::span<const std::int64_t> targets);

}  // namespace tally::exchange
