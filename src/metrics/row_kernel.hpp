// Loops over the scores of one sample, in forms that compilers turn into vector code.
#pragma once

#include <cstdint>
#include <span>

namespace tally::metrics {

// Largest value; NaN is passed over (see has_nan_or_inf()). -Inf for an empty row.
float largest(std::span<const float> row);

enum class MinusInf { allowed, forbidden };
bool has_nan_or_inf(std::span<const float> row, MinusInf minus_inf);

// Whether all values lie in [low, high].
bool all_within(std::span<const float> row, float low, float high);

struct Comparison {
  std::int32_t greater = 0;
  std::int32_t equal = 0;
};
// How many values are greater than `value` and how many equal it.
Comparison compare(std::span<const float> row, float value);

// exp(x) for x <= 0 with a relative error below 1e-14; never 0, but 2^-1022 or so. Made of
// additions and multiplications alone: the same bits on every machine, which no libm promises, and
// in a loop vector code at half the time of calls.
double exp_of_negative(double x);

// Sum of exp(row[i] - peak), in double and in a fixed order; `peak` is the largest value, finite.
double sum_exp(std::span<const float> row, float peak);

}  // namespace tally::metrics
