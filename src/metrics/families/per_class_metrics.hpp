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
    count_decided(row.label, row.prediction, add);
  }

  // -1 is no prediction.
  template <class Add>
  constexpr void count_decided(std::int64_t label, std::int64_t prediction, const Add& add) const {
    if (support == kNotKept) return;
    add(support + label, 1);
    if (prediction >= 0) add(predicted + prediction, 1);
    if (label == prediction) add(correct + label, 1);
  }
};

FamilyEntry class_metrics_family();
// The same of tokens, which depend on those beside them: without shares of independent samples.
FamilyEntry token_class_metrics_family();

}  // namespace tally::metrics
