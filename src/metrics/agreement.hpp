// Agreement of labels and predictions beyond chance: Cohen's kappa, Matthews' coefficient. Made of
// the counts per class and, for ordered classes, of two sums of distances: no confusion matrix.
#pragma once

#include "counters.hpp"
#include "family.hpp"

namespace tally::metrics {

struct AgreementCounters {
  std::int64_t distance = kNotKept;  // exact float64 sum of |label - prediction|
  std::int64_t square = kNotKept;    // and of its squares

  template <class Add>
  constexpr void count_row(const ClassRow& row, const Add& add) const {
    if (!row.finite || row.label == row.prediction) return;
    const auto apart = static_cast<double>(row.label - row.prediction);
    if (distance != kNotKept) add_to_sum(distance, apart < 0 ? -apart : apart, add);
    if (square != kNotKept) add_to_sum(square, apart * apart, add);
  }
};

FamilyEntry agreement_family();

}  // namespace tally::metrics
