// Means over the samples whose scores are finite, of exact sums: cross entropy, Brier score, hinge
// loss.
#pragma once

#include "counters.hpp"
#include "family.hpp"

namespace tally::metrics {

struct LossCounters {
  std::int64_t loss = kNotKept;  // limbs of exact float64 sums
  std::int64_t brier = kNotKept;
  std::int64_t hinge = kNotKept;
  std::int64_t samples = kNotKept;  // [classes]; kept where classes have weights

  template <class Add>
  constexpr void count_row(const ClassRow& row, const Add& add) const {
    if (!row.finite) return;
    if (loss != kNotKept) add_to_sum(loss, row.loss, add);
    if (brier != kNotKept) add_to_sum(brier, row.brier, add);
    if (hinge != kNotKept) add_to_sum(hinge, row.hinge, add);
    if (samples != kNotKept) add(samples + row.label, 1);
  }
};

FamilyEntry loss_family();

}  // namespace tally::metrics
