// SPDX-License-Identifier: Apache-2.0
// Per label that is judged by itself: how often it is scored, set, predicted, right. Made of them:
// the ratios of a binary classification, and of several labels with their averages.
#pragma once

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

struct MultilabelCounters {
  std::int64_t scored = kNotKept;  // [labels] each
  std::int64_t support = kNotKept;
  std::int64_t predicted = kNotKept;    // only where scores are finite, as the next two
  std::int64_t correct = kNotKept;      // set and predicted
  std::int64_t rejected = kNotKept;     // neither
  std::int64_t with_scores = kNotKept;  // scored labels of samples with finite scores
  float threshold = 0;

  constexpr bool predicts(float probability) const { return probability > threshold; }

  template <class Add>
  constexpr void count_sample(const LabelSample& sample, const Add& add) const {
    if (scored == kNotKept) return;
    for (std::int64_t i = 0; i < sample.num_labels; ++i) {
      if (sample.targets[i] == kNotScored) continue;
      const bool is_set = sample.targets[i] == 1;
      add(scored + i, 1);
      if (is_set) add(support + i, 1);
      if (sample.row.finite) count_prediction(i, is_set, predicts(sample.probabilities[i]), add);
    }
    if (sample.row.finite) add(with_scores, sample.row.scored);
  }

 private:
  template <class Add>
  constexpr void count_prediction(std::int64_t i, bool is_set, bool is_predicted,
                                  const Add& add) const {
    if (is_predicted) add(predicted + i, 1);
    if (is_set && is_predicted) add(correct + i, 1);
    if (!is_set && !is_predicted) add(rejected + i, 1);
  }
};

FamilyEntry binary_metrics_family();
FamilyEntry multilabel_metrics_family();

}  // namespace tally::metrics
