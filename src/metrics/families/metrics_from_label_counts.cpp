// SPDX-License-Identifier: Apache-2.0
#include "families/metrics_from_label_counts.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

ClassCount as_class(const LabelCount& count) {
  return {count.support, count.predicted, count.correct, count.scored};
}

template <Ratio (*ratio)(const LabelCount&)>
Ratio without_beta(const LabelCount& count, double) {
  return ratio(count);
}

}  // namespace

LabelCount& LabelCount::operator+=(const LabelCount& other) {
  scored += other.scored;
  support += other.support;
  predicted += other.predicted;
  correct += other.correct;
  rejected += other.rejected;
  return *this;
}

// Labels without finite scores are neither correct nor rejected but scored, so that they count as
// wrong here and in specificity.
Ratio accuracy(const LabelCount& count) {
  return {static_cast<double>(count.correct + count.rejected), static_cast<double>(count.scored)};
}

Ratio precision(const LabelCount& count) { return precision(as_class(count)); }

Ratio recall(const LabelCount& count) { return recall(as_class(count)); }

Ratio specificity(const LabelCount& count) {
  return {static_cast<double>(count.rejected), static_cast<double>(count.scored - count.support)};
}

Ratio jaccard(const LabelCount& count) { return jaccard(as_class(count)); }

Ratio f_beta(const LabelCount& count, double beta) { return f_beta(as_class(count), beta); }

MetricValue LabelMetric::value_of(const LabelCount& count) const {
  const Ratio made = of(count);
  MetricValue value{name, made.value()};
  // Only a share of samples has a proportion, from which Wilson's interval is made.
  if (is_share) {
    value.proportion =
        Proportion{static_cast<std::int64_t>(made.part), static_cast<std::int64_t>(made.whole)};
  }
  return value;
}

std::vector<LabelMetric> label_metrics(const std::vector<double>& betas) {
  std::vector<LabelMetric> values{{"precision", without_beta<precision>},
                                  {"recall", without_beta<recall>},
                                  {"f1", f_beta, 1, false}};
  for (const double beta : betas) {
    values.push_back({filled("f<beta>", beta), f_beta, beta, false});
  }
  values.push_back({"specificity", without_beta<specificity>});
  values.push_back({"jaccard", without_beta<jaccard>});
  return values;
}

void LabelSpans::declare(std::int64_t num_labels, double threshold, exact::StateLayout& layout,
                         RowCounters& counters) {
  correct_ = layout.add_counters("labels.correct", num_labels);
  predicted_ = layout.add_counters("labels.predicted", num_labels);
  rejected_ = layout.add_counters("labels.rejected", num_labels);
  scored_ = layout.add_counters("labels.scored", num_labels);
  support_ = layout.add_counters("labels.support", num_labels);
  with_scores_ = layout.add_counters("labels.with_scores", 1);
  counters.labels = {.scored = scored_.offset,
                     .support = support_.offset,
                     .predicted = predicted_.offset,
                     .correct = correct_.offset,
                     .rejected = rejected_.offset,
                     .with_scores = with_scores_.offset,
                     .threshold = static_cast<float>(threshold)};
}

std::vector<LabelCount> LabelSpans::read(const exact::State& state, Results& results) const {
  std::vector<LabelCount> counts;
  for (std::size_t i = 0; i < to_size(scored_.length); ++i) {
    counts.push_back({state.of(scored_)[i], state.of(support_)[i], state.of(predicted_)[i],
                      state.of(correct_)[i], state.of(rejected_)[i]});
    // Losses are means over these numbers; their families are finalized later.
    results.counts.labels_scored += counts.back().scored;
  }
  results.counts.labels_with_scores = state.of(with_scores_)[0];
  return counts;
}

ClassMetrics class_metrics_of(std::int64_t index, const LabelCount& count,
                              const std::vector<LabelMetric>& values) {
  ClassMetrics made{index, count.support, count.predicted, count.correct, {}};
  for (const LabelMetric& metric : values) made.values.push_back(metric.value_of(count));
  return made;
}

}  // namespace tally::metrics
