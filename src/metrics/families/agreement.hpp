// SPDX-License-Identifier: Apache-2.0
// Agreement of labels and predictions beyond chance: Cohen's kappa, Matthews' coefficient. Made of
// the counts per class and, for ordered classes, of two sums of distances: no confusion matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tally/metrics/results.hpp>

#include "family.hpp"

namespace tally::metrics {

struct AgreementCounters {
  std::int64_t distance = kNotKept;  // exact float64 sum of |label - prediction|
  std::int64_t square = kNotKept;    // and of its squares

  template <class Add>
  constexpr void count_row(const MulticlassRecord& row, const Add& add) const {
    if (!row.finite || row.label == row.prediction) return;
    const auto apart = static_cast<double>(row.label - row.prediction);
    if (distance != kNotKept) add_to_sum(distance, apart < 0 ? -apart : apart, add);
    if (square != kNotKept) add_to_sum(square, apart * apart, add);
  }
};

FamilyEntry agreement_family();

// Matthews' coefficient from the classes' support, predictions and hits, in the covariance form
// (Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient", 2004).
// 0 where a margin has one category, as in scikit-learn; none without samples. `without_scores` of
// the `scored` are predicted as no class, a category of its own.
std::optional<double> matthews(const std::vector<ClassMetrics>& classes, std::int64_t scored,
                               std::int64_t without_scores);

}  // namespace tally::metrics
