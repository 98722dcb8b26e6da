// The counters of all families, passed to kernels as one argument.
#pragma once

#include "agreement.hpp"
#include "calibration.hpp"
#include "class_figures.hpp"
#include "confusion.hpp"
#include "counters.hpp"
#include "coverage.hpp"
#include "loss.hpp"
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
};

}  // namespace tally::metrics
