// How rows are counted: each family has a struct of counters, where in the State its counts lie and
// what a row adds to them. They are plain data with constexpr code, so that the CPU and the kernels
// count alike: `add` is a function of (offset in the State, integer).
#pragma once

#include <cstdint>

#include <tally/exact/pieces.hpp>
#include <tally/metrics/multiclass_record.hpp>

namespace tally::metrics {

// Offset of counts that a run does not keep.
inline constexpr std::int64_t kNotKept = -1;

// Adds a finite value to the exact float64 sum at `sum`.
template <class Add>
constexpr void add_to_sum(std::int64_t sum, double value, const Add& add) {
  const exact::Pieces pieces = exact::pieces_of(value);
  for (int i = 0; i < exact::Pieces::kCount; ++i) {
    if (pieces.parts[i] != 0) add(sum + pieces.first_limb + i, pieces.parts[i]);
  }
}

}  // namespace tally::metrics
