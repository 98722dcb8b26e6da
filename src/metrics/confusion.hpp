// Confusion matrix: who is taken for whom.
#pragma once

#include "counters.hpp"
#include "family.hpp"

namespace tally::metrics {

struct ConfusionCounters {
  std::int64_t matrix = kNotKept;  // [true class, prediction]
  std::int64_t num_classes = 0;

  template <class Add>
  constexpr void count_row(const ClassRow& row, const Add& add) const {
    if (matrix == kNotKept || !row.finite) return;
    add(matrix + row.label * num_classes + row.prediction, 1);
  }
};

FamilyEntry confusion_family();

}  // namespace tally::metrics
