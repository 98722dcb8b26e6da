// SPDX-License-Identifier: Apache-2.0
#include "passes/row_reductions.hpp"

#include "passes/row_reduction_loops.hpp"

// x86-64 itself has vectors of two doubles only. The program is built for it, and takes the wider
// ones where the processor has them; contraction is off, so that they round alike.
namespace tally::metrics {
namespace {

using Row = std::span<const float>;

const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;

[[gnu::target("avx2")]] float largest_avx2(Row row) { return loops::largest(row); }
[[gnu::target("avx2")]] bool has_bad_score_avx2(Row row, OutputKind kind) {
  return loops::has_bad_score(row, kind);
}
[[gnu::target("avx2")]] bool all_fit_kind_avx2(Row row, OutputKind kind) {
  return loops::all_fit_kind(row, kind);
}
[[gnu::target("avx2")]] Comparison compare_avx2(Row row, float value) {
  return loops::compare(row, value);
}
[[gnu::target("avx2")]] Terms sum_terms_avx2(Row row, float peak, OutputKind kind) {
  return loops::sum_terms(row, peak, kind);
}

}  // namespace

float largest(Row row) { return kHasAvx2 ? largest_avx2(row) : loops::largest(row); }

bool has_bad_score(Row row, OutputKind kind) {
  return kHasAvx2 ? has_bad_score_avx2(row, kind) : loops::has_bad_score(row, kind);
}

bool all_fit_kind(Row row, OutputKind kind) {
  return kHasAvx2 ? all_fit_kind_avx2(row, kind) : loops::all_fit_kind(row, kind);
}

Comparison compare(Row row, float value) {
  return kHasAvx2 ? compare_avx2(row, value) : loops::compare(row, value);
}

Terms sum_terms(Row row, float peak, OutputKind kind) {
  return kHasAvx2 ? sum_terms_avx2(row, peak, kind) : loops::sum_terms(row, peak, kind);
}

}  // namespace tally::metrics
