// SPDX-License-Identifier: Apache-2.0
// Per class: support, predictions, hits; what is made of them, with its averages.
#pragma once

#include "family.hpp"

namespace tally::metrics {

struct MulticlassCounters {
  std::int64_t support = kNotKept;  // [classes] each
  std::int64_t predicted = kNotKept;
  std::int64_t correct = kNotKept;

  template <class Add>
  constexpr void count_row(const MulticlassRecord& row, const Add& add) const {
    if (support == kNotKept) return;
    add(support + row.label, 1);
    if (row.prediction >= 0) add(predicted + row.prediction, 1);
    if (row.label == row.prediction) add(correct + row.label, 1);
  }
};

FamilyEntry class_metrics_family();

}  // namespace tally::metrics
