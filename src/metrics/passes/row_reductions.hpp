// SPDX-License-Identifier: Apache-2.0
// Loops over the scores of one sample, in forms that compilers turn into vector code.
#pragma once

#include <cstdint>
#include <span>

#include "passes/deterministic_math.hpp"

namespace tally::metrics {

// Largest value; NaN is passed over (see has_bad_score()). -Inf for an empty row.
float largest(std::span<const float> row);

// Whether a score is no number of this kind of output, and whether each one can be of this kind
// (deterministic_math.hpp says when).
bool has_bad_score(std::span<const float> row, OutputKind kind);
bool all_fit_kind(std::span<const float> row, OutputKind kind);

struct Comparison {
  std::int32_t greater = 0;
  std::int32_t equal = 0;
};
// How many values are greater than `value` and how many equal it.
Comparison compare(std::span<const float> row, float value);

// Sums over the terms of a row (deterministic_math.hpp) in a fixed order; `peak` is the largest
// score, finite.
Terms sum_terms(std::span<const float> row, float peak, OutputKind kind);

}  // namespace tally::metrics
