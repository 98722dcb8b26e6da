// SPDX-License-Identifier: Apache-2.0
#include "families/multilabel_sample_metrics.hpp"

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

class ExactMatch : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    all_right_ = layout.add_counters("samples.all_right", 1);
    counters.label_samples.all_right = all_right_.offset;
  }

  void finalize(const exact::State& state, Results& results) const override {
    // This is MultilabelExactMatch, but a sample without a scored label is not counted.
    const Proportion share{state.of(all_right_)[0], results.counts.scored};
    results.metrics.push_back({"exact_match", share.value(), share});
  }

 private:
  exact::StateSpan all_right_;
};

// These are scikit-learn's coverage_error, label_ranking_loss and
// label_ranking_average_precision_score; passes/multilabel_statistics.hpp computes them for one
// sample.
class LabelRankings : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    coverage_ = layout.add_counters("ranking.coverage", 1);
    loss_ = layout.add_sum("ranking.loss", kSumKind);
    precision_ = layout.add_sum("ranking.precision", kSumKind);
    counters.label_samples.coverage = coverage_.offset;
    counters.label_samples.ranking_loss = loss_.offset;
    counters.label_samples.ranking_precision = precision_.offset;
  }

  void finalize(const exact::State& state, Results& results) const override {
    // The sum of whole numbers is a counter. It is no share of samples, so that the proportion is
    // not passed on.
    const Proportion coverage{state.of(coverage_)[0], results.counts.finite()};
    results.metrics.push_back({"coverage_error", coverage.value()});
    append("ranking_loss", loss_, state, results);
    append("label_ranking_average_precision", precision_, state, results);
  }

 private:
  static void append(const char* name, const exact::StateSpan& sum, const exact::State& state,
                     Results& results) {
    MetricValue mean{name, std::nullopt};
    if (results.counts.finite() > 0)
      mean.value = exact::mean(state.of(sum), kSumKind, results.counts.finite());
    results.metrics.push_back(mean);
  }

  exact::StateSpan coverage_, loss_, precision_;
};

}  // namespace

FamilyEntry exact_match_family() {
  return {.metrics = {{.name = "exact_match",
                       .definition = "share of samples of which every label is right"}},
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<ExactMatch>();
          }};
}

FamilyEntry label_ranking_family() {
  return {
      .metrics = {{.name = "coverage_error",
                   .definition = "mean number of labels, by probability, down to the last set one",
                   .standard = false,
                   .less_is_better = true},
                  {.name = "ranking_loss",
                   .definition = "mean share of pairs in which a label that is set is not ahead",
                   .standard = false,
                   .less_is_better = true},
                  {.name = "label_ranking_average_precision",
                   .definition = "mean share of set labels among those ahead of a set one",
                   .standard = false}},
      .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
        return std::make_unique<LabelRankings>();
      }};
}

}  // namespace tally::metrics
