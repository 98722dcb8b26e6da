// SPDX-License-Identifier: Apache-2.0
// Confusion matrix: who is taken for whom. Of labels that are judged one by one, one of two classes
// for each label.
#pragma once

#include <tally/metrics/sample_records.hpp>

#include "families/binary_and_multilabel_metrics.hpp"
#include "family.hpp"

namespace tally::metrics {

struct ConfusionCounters {
  std::int64_t matrix = kNotKept;  // [true class, prediction]; of labels [label, truth, prediction]
  std::int64_t num_classes = 0;

  template <class Add>
  constexpr void count_row(const MulticlassRecord& row, const Add& add) const {
    if (matrix == kNotKept || !row.finite) return;
    add(matrix + row.label * num_classes + row.prediction, 1);
  }

  template <class Add>
  constexpr void count_pixels(const SegmentationRecord& row, const Add& add) const {
    if (matrix == kNotKept) return;
    for (std::int64_t i = 0; i < row.num_pixels; ++i) {
      if (row.labels[i] >= 0) count_decided(row.labels[i], row.predictions[i], add);
    }
  }

  // Of a pixel or token that is scored; -1 is no prediction.
  template <class Add>
  constexpr void count_decided(std::int64_t label, std::int64_t prediction, const Add& add) const {
    if (matrix == kNotKept || prediction < 0) return;
    add(matrix + label * num_classes + prediction, 1);
  }

  // Of finite scores.
  template <class Add>
  constexpr void count_sample(const LabelSample& sample, const MultilabelCounters& labels,
                              const Add& add) const {
    if (matrix == kNotKept) return;
    for (std::int64_t i = 0; i < sample.num_labels; ++i) {
      if (sample.targets[i] == kNotScored) continue;
      const int cell = (sample.targets[i] == 1 ? 2 : 0) + labels.predicts(sample.probabilities[i]);
      add(matrix + 4 * i + cell, 1);
    }
  }
};

FamilyEntry confusion_family();

}  // namespace tally::metrics
