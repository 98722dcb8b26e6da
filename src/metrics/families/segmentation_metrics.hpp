// SPDX-License-Identifier: Apache-2.0
// Segmentation: pixels per class, and what is made of them.
#pragma once

#include <cstdint>

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

struct SegmentationCounters {
  std::int64_t support = kNotKept;  // [classes] each
  std::int64_t predicted = kNotKept;
  std::int64_t correct = kNotKept;

  template <class Add>
  constexpr void count_row(const SegmentationRecord& row, const Add& add) const {
    if (support == kNotKept) return;
    for (std::int64_t c = 0; c < row.num_classes; ++c) {
      if (row.support[c] != 0) add(support + c, row.support[c]);
      if (row.predicted[c] != 0) add(predicted + c, row.predicted[c]);
      if (row.correct[c] != 0) add(correct + c, row.correct[c]);
    }
  }
};

FamilyEntry mask_family();

}  // namespace tally::metrics
