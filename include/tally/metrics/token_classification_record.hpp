// SPDX-License-Identifier: Apache-2.0
// Defines what is found of a sequence whose tokens are classified one by one.
#pragma once

#include <cstdint>
#include <span>

#include <tally/metrics/entities.hpp>

namespace tally::metrics {

// A sequence of tokens and their classes. Plain data, which points into memory of its maker.
struct TokenClassificationRecord {
  std::uint64_t index = 0;
  bool finite = true;  // false: scores of a token hold NaN or Inf; such tokens count as wrong
  // Of the tokens that are scored, in order; none: the sequence is ignored.
  std::span<const std::int32_t> labels = {};
  std::span<const std::int32_t> predictions = {};  // -1: none
  double loss = 0;  // sum over them of -log(probability of the label); void where not finite
  std::span<const EntityRecord> entities = {};

  constexpr std::int64_t tokens() const { return static_cast<std::int64_t>(labels.size()); }
};

}  // namespace tally::metrics
