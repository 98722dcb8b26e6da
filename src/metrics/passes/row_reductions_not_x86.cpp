// SPDX-License-Identifier: Apache-2.0
#include "passes/row_reductions.hpp"

#include "passes/row_reduction_loops.hpp"

namespace tally::metrics {

float largest(std::span<const float> row) { return loops::largest(row); }
bool has_bad_score(std::span<const float> row, OutputKind kind) {
  return loops::has_bad_score(row, kind);
}
bool all_fit_kind(std::span<const float> row, OutputKind kind) {
  return loops::all_fit_kind(row, kind);
}
Comparison compare(std::span<const float> row, float value) { return loops::compare(row, value); }
Terms sum_terms(std::span<const float> row, float peak, OutputKind kind) {
  return loops::sum_terms(row, peak, kind);
}

}  // namespace tally::metrics
