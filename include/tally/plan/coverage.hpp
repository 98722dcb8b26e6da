// SPDX-License-Identifier: Apache-2.0
// Computes the evidence that a complete run must have: that of every sample index exactly once.
#pragma once

#include <cstdint>

#include <tally/plan/batch_grid.hpp>

namespace tally::plan {

// Sums over sample indices, both modulo 2^64; `index_mix` sums tally::index_hash.
struct CoverageEvidence {
  std::int64_t count = 0;
  std::uint64_t index_sum = 0;
  std::uint64_t index_mix = 0;
  bool operator==(const CoverageEvidence&) const = default;
};

// The evidence that samples [range.first, range.end()), each seen once, must leave. O(count).
CoverageEvidence expected_evidence(SampleRange range);

}  // namespace tally::plan
