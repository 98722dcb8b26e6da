// SPDX-License-Identifier: Apache-2.0
// What the metric pass saw: the evidence that every sample came once. Always kept.
#pragma once

#include <tally/base/index_hash.hpp>

#include "family.hpp"

namespace tally::metrics {

// What every task knows of a sample.
struct SeenSample {
  std::uint64_t index = 0;
  bool ignored = false;
  bool finite = true;
  bool tied = false;
};

// A 64-bit sum is kept as the sums of its addends' four 16-bit pieces: plain counters, which 2^47
// samples cannot overflow and which need no carries to be equal bits for any split.
struct AccountingCounters {
  static constexpr int kPieceBits = 16;
  static constexpr int kNumPieces = 64 / kPieceBits;
  std::int64_t count = kNotKept;
  std::int64_t ignored = kNotKept;
  std::int64_t index_mix = kNotKept;  // [pieces]
  std::int64_t index_sum = kNotKept;  // [pieces]
  std::int64_t not_finite = kNotKept;
  std::int64_t tied = kNotKept;            // where there are scores
  std::int64_t without_scores = kNotKept;  // to be scored, but not finite

  template <class Add>
  constexpr void count_sample(const SeenSample& sample, const Add& add) const {
    add(count, 1);
    if (sample.ignored) add(ignored, 1);
    if (sample.tied) add(tied, 1);
    if (!sample.finite) add(not_finite, 1);
    if (!sample.finite && !sample.ignored) add(without_scores, 1);
    add_pieces(index_sum, sample.index, add);
    add_pieces(index_mix, index_hash(sample.index), add);
  }

  // Whether counts there are evidence of which indices came.
  constexpr bool is_evidence(std::int64_t offset) const {
    const auto within = [offset](std::int64_t first) {
      return offset >= first && offset < first + kNumPieces;
    };
    return within(index_mix) || within(index_sum);
  }

 private:
  template <class Add>
  static constexpr void add_pieces(std::int64_t offset, std::uint64_t value, const Add& add) {
    for (int i = 0; i < kNumPieces; ++i) {
      const auto piece = static_cast<std::int64_t>(value >> (i * kPieceBits) & 0xffff);
      if (piece != 0) add(offset + i, piece);
    }
  }
};

// Of units; of the samples that units are made of, where several make one.
FamilyEntry coverage_family();
FamilyEntry sample_coverage_family();

}  // namespace tally::metrics
