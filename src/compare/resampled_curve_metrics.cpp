// SPDX-License-Identifier: Apache-2.0
#include "resampled_curve_metrics.hpp"

#include <tally/metrics/name_patterns.hpp>
#include <tally/ordered_metrics/local_curves.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::compare {
namespace {

constexpr const char* kSpearman = "spearman";

std::vector<std::optional<double>> values_of(const std::vector<metrics::MetricValue>& metrics) {
  std::vector<std::optional<double>> values;
  for (const auto& metric : metrics) values.push_back(metric.value);
  return values;
}

// The constructor reads and sorts the scores of a run once. A replicate then only adds up its
// weights in that order (decision 14).
class OfCurves : public CurveMetrics {
 public:
  OfCurves(std::vector<std::string> names, const ordered_metrics::ScoreRows& rows,
           ordered_metrics::ScoreKeys keys, const ordered_metrics::CurveRules& rules)
      : CurveMetrics(std::move(names)), curves_(rows, keys), rules_(rules) {
    curves_.count({}, whole_);
  }

  std::vector<std::optional<double>> values(metrics::RowWeights weights) const override {
    // A replicate is compared with the whole run: where a class has lost all its positives or all
    // its negatives, the value is undefined (curve_metrics.hpp).
    if (weights.empty()) return values_of(ordered_metrics::curve_metrics(whole_, names(), rules_));
    curves_.count(weights, counts_);
    return values_of(ordered_metrics::replicate_metrics(counts_, whole_, names(), rules_));
  }

 private:
  ordered_metrics::LocalCurves curves_;
  ordered_metrics::CurveRules rules_;
  std::vector<ordered_metrics::CurveCounts> whole_;
  mutable std::vector<ordered_metrics::CurveCounts> counts_;  // reused by each replicate
};

// Spearman's correlation, whose ranks depend on the weights: the values are sorted once, and ranked
// for each replicate.
class OfRanks : public CurveMetrics {
 public:
  explicit OfRanks(const ordered_metrics::PairRows& rows)
      : CurveMetrics({kSpearman}), ranks_(rows) {}

  std::vector<std::optional<double>> values(metrics::RowWeights weights) const override {
    return {ordered_metrics::mean_spearman(ranks_.sum(weights))};
  }

 private:
  ordered_metrics::LocalSpearman ranks_;
};

}  // namespace

std::unique_ptr<CurveMetrics> make_curve_metrics(const std::vector<std::string>& names,
                                                 const ordered_metrics::ScoreRows& rows,
                                                 ordered_metrics::ScoreKeys keys,
                                                 const ordered_metrics::CurveRules& rules) {
  std::vector<std::string> of_curves = ordered_metrics::curve_metric_names(names);
  if (of_curves.empty()) return nullptr;
  return std::make_unique<OfCurves>(std::move(of_curves), rows, keys, rules);
}

std::unique_ptr<CurveMetrics> make_spearman(const std::vector<std::string>& names,
                                            const ordered_metrics::PairRows& rows) {
  if (!metrics::contains(names, kSpearman)) return nullptr;
  return std::make_unique<OfRanks>(rows);
}

}  // namespace tally::compare
