// Share of samples whose prediction is right.
#pragma once

#include "counted_row.hpp"
#include "family.hpp"

namespace tally::metrics {

struct AccuracyCounters {
  std::int64_t correct = kNotKept;

  template <class Add>
  constexpr void count_row(const CountedRow& row, const Add& add) const {
    if (correct != kNotKept && row.label_rank == 0) add(correct, 1);
  }
};

FamilyEntry accuracy_family();

}  // namespace tally::metrics
