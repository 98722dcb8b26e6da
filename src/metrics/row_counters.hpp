// The counters of all families, passed to kernels as one argument.
#pragma once

#include "agreement.hpp"
#include "calibration.hpp"
#include "class_figures.hpp"
#include "confusion.hpp"
#include "counters.hpp"
#include "coverage.hpp"
#include "loss.hpp"
#include "regression.hpp"
#include "top_k.hpp"

namespace tally::metrics {

struct RowCounters {
  CoverageCounters coverage;
  TopKCounters top_k;
  LossCounters losses;
  ClassCounters classes;
  AgreementCounters agreement;
  CalibrationCounters calibration;
  ConfusionCounters confusion;
  RegressionCounters regression;

  template <class Add>
  constexpr void count(const ClassRow& row, const Add& add) const {
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
  constexpr void count(const RegressionRow& row, const Add& add, int first = 0,
                       int step = 1) const {
    if (first == 0) coverage.count_sample({.index = row.index, .finite = row.finite}, add);
    if (row.finite) regression.count_row(row, add, first, step);
  }
};

}  // namespace tally::metrics
