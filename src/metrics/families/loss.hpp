// SPDX-License-Identifier: Apache-2.0
// Means of exact sums: cross entropy, Brier score, hinge loss. Over the samples whose scores are
// finite, or, where labels are judged one by one, over the scored labels of such samples.
#pragma once

#include <type_traits>

#include <tally/metrics/multiclass_statistics.hpp>
#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

struct LossCounters {
  std::int64_t loss = kNotKept;  // limbs of exact float64 sums
  std::int64_t brier = kNotKept;
  std::int64_t hinge = kNotKept;
  std::int64_t samples = kNotKept;  // [classes]; kept where classes have weights

  // Row: MulticlassRecord or MultilabelRecord.
  template <class Row, class Add>
  constexpr void count_row(const Row& row, const Add& add) const {
    if (!row.finite) return;
    if (loss != kNotKept) add_to_sum(loss, row.loss, add);
    if (brier != kNotKept) add_to_sum(brier, row.brier, add);
    if (hinge != kNotKept) add_to_sum(hinge, row.hinge, add);
    if constexpr (std::is_same_v<Row, MulticlassRecord>) {
      if (samples != kNotKept) add(samples + row.label, 1);
    }
  }
};

// Whether the hinge loss is wanted, and what its margin is measured on.
HingeOn hinge_on(const MetricOptions& options);

FamilyEntry loss_family();
FamilyEntry binary_loss_family();
FamilyEntry multilabel_loss_family();

}  // namespace tally::metrics
