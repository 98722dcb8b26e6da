// SPDX-License-Identifier: Apache-2.0
// Share of samples whose true class is the best score (accuracy) or among the k best.
#pragma once

#include "family.hpp"

namespace tally::metrics {

struct TopKCounters {
  static constexpr int kMostTops = 16;
  // [tops, 3]: by rank; with ties for and against the label. [tops] without ties.
  std::int64_t hits = kNotKept;
  std::int32_t num_tops = 0;
  bool has_ties = true;
  std::int32_t tops[kMostTops] = {};  // k of each

  template <class Add>
  constexpr void count_row(const MulticlassRecord& row, const Add& add) const {
    if (!row.finite) return;
    for (std::int64_t i = 0; i < num_tops; ++i) {
      if (row.best_rank >= tops[i]) continue;
      if (!has_ties) {
        add(hits + i, 1);
        continue;
      }
      add(hits + 3 * i + 1, 1);
      if (row.label_rank < tops[i]) add(hits + 3 * i, 1);
      if (row.worst_rank < tops[i]) add(hits + 3 * i + 2, 1);
    }
  }
};

FamilyEntry top_k_family();

}  // namespace tally::metrics
