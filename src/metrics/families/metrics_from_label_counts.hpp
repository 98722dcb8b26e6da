// SPDX-License-Identifier: Apache-2.0
// Metrics of one label that is judged by itself, from its counts; and the per-label counters'
// place in a State. Shared by one label and several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/results.hpp>

#include "families/metrics_from_class_counts.hpp"

namespace tally::metrics {

struct RowCounters;

struct LabelCount {
  std::int64_t scored = 0;
  std::int64_t support = 0;
  std::int64_t predicted = 0;
  std::int64_t correct = 0;   // set and predicted
  std::int64_t rejected = 0;  // neither

  LabelCount& operator+=(const LabelCount& other);
};

Ratio accuracy(const LabelCount& count);
Ratio precision(const LabelCount& count);
Ratio recall(const LabelCount& count);
Ratio specificity(const LabelCount& count);  // unlike a class's: labels without scores are wrong
Ratio jaccard(const LabelCount& count);
Ratio f_beta(const LabelCount& count, double beta);

// A metric with a name, as of one label. beta: of F-beta.
struct LabelMetric {
  std::string name;
  Ratio (*ratio)(const LabelCount& count, double beta) = nullptr;
  double beta = 1;
  bool is_share = true;  // of samples; F-beta is none

  Ratio of(const LabelCount& count) const { return ratio(count, beta); }
  // 0/0 gives none.
  MetricValue value_of(const LabelCount& count) const;
};
// Precision, recall, F1, F of each beta, specificity, Jaccard.
std::vector<LabelMetric> label_metrics(const std::vector<double>& betas);

// The counters of MultilabelCounters (binary_and_multilabel_metrics.hpp).
class LabelSpans {
 public:
  void declare(std::int64_t num_labels, double threshold, exact::StateLayout& layout,
               RowCounters& counters);
  // Fills the numbers of labels too.
  std::vector<LabelCount> read(const exact::State& state, Results& results) const;

 private:
  exact::StateSpan correct_, predicted_, rejected_, scored_, support_, with_scores_;
};

// A label, or a class of two, with its metrics as far as they are defined.
ClassMetrics class_metrics_of(std::int64_t index, const LabelCount& count,
                              const std::vector<LabelMetric>& values);

}  // namespace tally::metrics
