// SPDX-License-Identifier: Apache-2.0
// The counters of all families, passed to kernels as one argument.
#pragma once

#include <tally/metrics/multiple_choice_metrics.hpp>
#include <tally/metrics/sample_records.hpp>
#include <tally/metrics/token_classification_record.hpp>

#include "families/agreement.hpp"
#include "families/binary_and_multilabel_metrics.hpp"
#include "families/calibration.hpp"
#include "families/confusion_matrix.hpp"
#include "families/detection_metrics.hpp"
#include "families/language_model_metrics.hpp"
#include "families/loss.hpp"
#include "families/multilabel_sample_metrics.hpp"
#include "families/per_class_metrics.hpp"
#include "families/question_answering_metrics.hpp"
#include "families/regression_metrics.hpp"
#include "families/sample_accounting.hpp"
#include "families/segmentation_metrics.hpp"
#include "families/token_classification_metrics.hpp"
#include "families/top_k.hpp"
#include "family.hpp"

namespace tally::metrics {

struct RowCounters {
  AccountingCounters coverage;  // of units
  AccountingCounters samples;   // where several of them make a unit
  TopKCounters top_k;
  LossCounters losses;
  MulticlassCounters classes;
  AgreementCounters agreement;
  CalibrationCounters calibration;
  ConfusionCounters confusion;
  MultilabelCounters labels;
  LabelSampleCounters label_samples;
  RegressionCounters regression;
  QuestionAnsweringCounters answers;
  LanguageModelCounters language_model;
  MultipleChoiceCounters multiple_choice;
  SegmentationCounters masks;
  DetectionCounters detections;
  TokenClassificationCounters tokens;
  EntityCounters entities;

  template <class Add>
  constexpr void count(const MulticlassRecord& row, const Add& add) const {
    coverage.count_sample(
        {.index = row.index, .ignored = row.ignored, .finite = row.finite, .tied = row.is_tied()},
        add);
    if (row.ignored) return;
    top_k.count_row(row, add);
    losses.count_row(row, add);
    classes.count_row(row, add);
    agreement.count_row(row, add);
    calibration.count_row(row, add);
    confusion.count_row(row, add);
  }

  // Lane `first` of `step` lanes that share the row; by default one does it all.
  template <class Add>
  constexpr void count(const RegressionRecord& row, const Add& add, int first = 0,
                       int step = 1) const {
    if (first == 0) coverage.count_sample({.index = row.index, .finite = row.finite}, add);
    if (row.finite) regression.count_row(row, add, first, step);
  }

  template <class Add>
  constexpr void count(const QuestionAnsweringRecord& row, const Add& add) const {
    coverage.count_sample({.index = row.index, .finite = row.finite}, add);
    answers.count_row(row, add);
  }

  template <class Add>
  constexpr void count(const LanguageModelRecord& row, const Add& add) const {
    coverage.count_sample({.index = row.index, .ignored = row.tokens == 0, .finite = row.finite},
                          add);
    language_model.count_row(row, add);
  }

  template <class Add>
  constexpr void count(const MultipleChoiceRecord& row, const Add& add) const {
    coverage.count_sample({.index = row.index, .ignored = row.ignored, .finite = row.finite}, add);
    multiple_choice.count_row(row, add);
  }

  template <class Add>
  constexpr void count(const SegmentationRecord& row, const Add& add) const {
    coverage.count_sample({.index = row.index, .ignored = row.ignored, .finite = row.finite}, add);
    masks.count_row(row, add);
    confusion.count_pixels(row, add);
  }

  template <class Add>
  constexpr void count(const TokenClassificationRecord& row, const Add& add) const {
    coverage.count_sample({.index = row.index, .ignored = row.tokens() == 0, .finite = row.finite},
                          add);
    tokens.count_row(row, add);
    entities.count_row(row, add);
    for (std::size_t i = 0; i < row.labels.size(); ++i) {
      classes.count_decided(row.labels[i], row.predictions[i], add);
      confusion.count_decided(row.labels[i], row.predictions[i], add);
    }
  }

  template <class Add>
  constexpr void count(const DenseRegressionRecord& row, const Add& add) const {
    coverage.count_sample({.index = row.index, .ignored = row.ignored, .finite = row.finite}, add);
    if (row.finite) regression.count_map(row, add);
  }

  // Objects and detections lie in images, which are counted by themselves.
  template <class Add>
  constexpr void count(const ObjectRow& row, const Add& add) const {
    detections.count_row(row, add);
  }
  template <class Add>
  constexpr void count(const DetectionRecord& row, const Add& add) const {
    detections.count_row(row, add);
  }

  // Where no units are made of samples, they are units themselves.
  template <class Add>
  constexpr void count(const SampleRecord& row, const Add& add) const {
    const AccountingCounters& seen = samples.count == kNotKept ? coverage : samples;
    seen.count_sample({.index = row.index, .finite = row.finite}, add);
  }

  template <class Add>
  constexpr void count(const LabelSample& sample, const Add& add) const {
    const MultilabelRecord& row = sample.row;
    coverage.count_sample({.index = row.index, .ignored = row.is_ignored(), .finite = row.finite},
                          add);
    if (row.is_ignored()) return;
    labels.count_sample(sample, add);
    losses.count_row(row, add);
    label_samples.count_row(row, add);
    if (!row.finite) return;
    // Kept of a single label only; it is taken for the second of two classes.
    if (calibration.counts != kNotKept) {
      calibration.count(sample.probabilities[0], sample.targets[0] == 1, add);
    }
    confusion.count_sample(sample, labels, add);
  }
};

}  // namespace tally::metrics
