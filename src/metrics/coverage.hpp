// What the metric pass saw: the evidence that every sample came once. Always kept.
#pragma once

#include <tally/base/sample_mix.hpp>

#include "counted_row.hpp"
#include "family.hpp"

namespace tally::metrics {

// A 64-bit sum is kept as the sums of its addends' four 16-bit pieces: plain counters, which 2^47
// samples cannot overflow and which need no carries to be equal bits for any split.
struct CoverageCounters {
  static constexpr int kPieceBits = 16;
  static constexpr int kNumPieces = 64 / kPieceBits;
  std::int64_t count = kNotKept;
  std::int64_t ignored = kNotKept;
  std::int64_t index_mix = kNotKept;  // [pieces]
  std::int64_t index_sum = kNotKept;  // [pieces]
  std::int64_t tied = kNotKept;

  template <class Add>
  constexpr void count_row(const CountedRow& row, const Add& add) const {
    add(count, 1);
    if (!row.is_scored()) add(ignored, 1);
    if (row.label_tied) add(tied, 1);
    add_pieces(index_sum, row.index, add);
    add_pieces(index_mix, sample_mix(row.index), add);
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

FamilyEntry coverage_family();

}  // namespace tally::metrics
