// SPDX-License-Identifier: Apache-2.0
// Regression: means of errors, shares of variance, correlations; all made of exact sums over the
// samples, for each output.
#pragma once

#include <bit>
#include <cstdint>

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

constexpr bool is_finite(float value) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  return (std::bit_cast<std::uint32_t>(value) & kExponent) != kExponent;
}

// Entries first, first + step, … of `values`: lanes share a row.
constexpr bool all_finite(const float* values, std::int64_t count, int first = 0, int step = 1) {
  bool all = true;
  for (std::int64_t i = first; i < count; i += step) all &= is_finite(values[i]);
  return all;
}

// Adds a finite value to the exact float32 sum at `sum`.
template <class Add>
constexpr void add_to_float32_sum(std::int64_t sum, float value, const Add& add) {
  const exact::Pieces pieces = exact::pieces_of(value);
  for (int i = 0; i < exact::Pieces::kCount; ++i) {
    if (pieces.parts[i] != 0) add(sum + pieces.first_limb + i, pieces.parts[i]);
  }
}

// Each an exact sum per output: [outputs] times the limbs of its kind. x is a prediction, y its
// target. The product of two float32 is exact as a double.
struct RegressionCounters {
  std::int64_t pixels = kNotKept;  // of maps: how many values there are; the sums follow it
  std::int64_t num_sums = 0;       // of maps: numbers from there to the end of the sums
  std::int64_t x = kNotKept;       // float32 sums
  std::int64_t y = kNotKept;
  std::int64_t distance = kNotKept;  // |x - y|
  std::int64_t xx = kNotKept;        // float64 sums
  std::int64_t yy = kNotKept;
  std::int64_t xy = kNotKept;
  std::int64_t percentage = kNotKept;  // |x - y| / max(|y|, smallest_target)
  std::int64_t float32_limbs = 0;
  std::int64_t float64_limbs = 0;
  double smallest_target = 0;

  // What was added up over the pixels of an image.
  template <class Add>
  constexpr void count_map(const DenseRegressionRecord& row, const Add& add) const {
    for (std::int64_t i = 0; i < row.num_sums; ++i) {
      if (row.sums[i] != 0) add(pixels + i, row.sums[i]);
    }
  }

  // The outputs first, first + step, …
  template <class Add>
  constexpr void count_row(const RegressionRecord& row, const Add& add, int first = 0,
                           int step = 1) const {
    for (std::int64_t output = first; output < row.num_outputs; output += step) {
      count_output(output, row.predictions[output], row.targets[output], add);
    }
  }

  // One value.
  template <class Add>
  constexpr void count_output(std::int64_t output, float prediction, float target,
                              const Add& add) const {
    const std::int64_t small = output * float32_limbs;
    const std::int64_t wide = output * float64_limbs;
    if (x != kNotKept) add_to_float32_sum(x + small, prediction, add);
    if (y != kNotKept) add_to_float32_sum(y + small, target, add);
    if (distance != kNotKept) {
      add_to_float32_sum(distance + small, prediction > target ? prediction : target, add);
      add_to_float32_sum(distance + small, prediction > target ? -target : -prediction, add);
    }
    if (xx != kNotKept) add_to_sum(xx + wide, double{prediction} * prediction, add);
    if (yy != kNotKept) add_to_sum(yy + wide, double{target} * target, add);
    if (xy != kNotKept) add_to_sum(xy + wide, double{prediction} * target, add);
    if (percentage != kNotKept) add_to_sum(percentage + wide, share(prediction, target), add);
  }

 private:
  constexpr double share(float prediction, float target) const {
    const double apart =
        prediction > target ? double{prediction} - target : double{target} - prediction;
    const double size = target < 0 ? -double{target} : double{target};
    return apart / (size > smallest_target ? size : smallest_target);
  }
};

FamilyEntry regression_family();
// Needs all values in order: counted elsewhere, as curves are (curve_metric_descriptions.hpp).
FamilyEntry rank_correlation_family();

}  // namespace tally::metrics
