// The counters of all families, passed to kernels as one argument.
#pragma once

#include "accuracy.hpp"
#include "class_figures.hpp"
#include "confusion.hpp"
#include "counted_row.hpp"
#include "coverage.hpp"
#include "loss.hpp"
#include "top_k.hpp"

namespace tally::metrics {

struct RowCounters {
  CoverageCounters coverage;
  AccuracyCounters accuracy;
  TopKCounters top_k;
  LossCounters loss;
  ClassCounters classes;
  ConfusionCounters confusion;

  template <class Add>
  constexpr void count(const CountedRow& row, const Add& add) const {
    coverage.count_row(row, add);
    if (!row.is_scored()) return;
    accuracy.count_row(row, add);
    top_k.count_row(row, add);
    loss.count_row(row, add);
    classes.count_row(row, add);
    confusion.count_row(row, add);
  }
};

}  // namespace tally::metrics
