// Means over scored labels with finite scores, of exact sums: cross entropy, Brier score, hinge
// loss of labels that are judged one by one.
#pragma once

#include <tally/metrics/label_row.hpp>

#include "counters.hpp"
#include "family.hpp"

namespace tally::metrics {

struct LabelLossCounters {
  std::int64_t loss = kNotKept;  // limbs of exact float64 sums
  std::int64_t brier = kNotKept;
  std::int64_t hinge = kNotKept;

  template <class Add>
  constexpr void count_row(const LabelRow& row, const Add& add) const {
    if (!row.finite) return;
    if (loss != kNotKept) add_to_sum(loss, row.loss, add);
    if (brier != kNotKept) add_to_sum(brier, row.brier, add);
    if (hinge != kNotKept) add_to_sum(hinge, row.hinge, add);
  }
};

FamilyEntry binary_loss_family();
FamilyEntry multilabel_loss_family();

}  // namespace tally::metrics
