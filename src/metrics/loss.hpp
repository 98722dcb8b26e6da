// Mean cross entropy, an exact sum divided once.
#pragma once

#include <tally/exact/pieces.hpp>

#include "counted_row.hpp"
#include "family.hpp"

namespace tally::metrics {

struct LossCounters {
  std::int64_t sum = kNotKept;  // limbs of an exact sum of float32

  template <class Add>
  constexpr void count_row(const CountedRow& row, const Add& add) const {
    if (sum == kNotKept) return;
    const exact::Pieces pieces = exact::pieces_of(row.loss);
    for (int i = 0; i < exact::Pieces::kCount; ++i) {
      if (pieces.parts[i] != 0) add(sum + pieces.first_limb + i, pieces.parts[i]);
    }
  }
};

FamilyEntry loss_family();

}  // namespace tally::metrics
