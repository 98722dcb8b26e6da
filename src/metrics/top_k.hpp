// Share of samples whose true class is among the k best scores.
#pragma once

#include "counted_row.hpp"
#include "family.hpp"

namespace tally::metrics {

struct TopKCounters {
  static constexpr std::int32_t kTop = 5;
  std::int64_t hits = kNotKept;

  template <class Add>
  constexpr void count_row(const CountedRow& row, const Add& add) const {
    if (hits != kNotKept && row.label_rank < kTop) add(hits, 1);
  }
};

FamilyEntry top_k_family();

}  // namespace tally::metrics
