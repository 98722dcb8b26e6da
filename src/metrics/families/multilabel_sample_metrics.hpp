// SPDX-License-Identifier: Apache-2.0
// Metrics of whole samples with several labels: all of them right, and the labels as a ranking.
#pragma once

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

struct LabelSampleCounters {
  std::int64_t all_right = kNotKept;
  std::int64_t coverage = kNotKept;           // sum of whole numbers
  std::int64_t ranking_loss = kNotKept;       // exact float64 sum
  std::int64_t ranking_precision = kNotKept;  // exact float64 sum

  template <class Add>
  constexpr void count_row(const MultilabelRecord& row, const Add& add) const {
    if (all_right != kNotKept && row.right == row.scored) add(all_right, 1);
    if (coverage == kNotKept || !row.finite) return;
    add(coverage, row.coverage);
    add_to_sum(ranking_loss, row.ranking_loss, add);
    add_to_sum(ranking_precision, row.ranking_precision, add);
  }
};

FamilyEntry exact_match_family();
FamilyEntry label_ranking_family();

}  // namespace tally::metrics
