#include "ordered_figures.hpp"

#include <tally/exchange/prepared_curves.hpp>
#include <tally/exchange/prepared_ranks.hpp>
#include <tally/metrics/names.hpp>

namespace tally::compare {
namespace {

constexpr const char* kSpearman = "spearman";

std::vector<std::optional<double>> values_of(const std::vector<metrics::MetricValue>& metrics) {
  std::vector<std::optional<double>> values;
  for (const auto& metric : metrics) values.push_back(metric.value);
  return values;
}

class OfCurves : public OrderedFigures {
 public:
  OfCurves(std::vector<std::string> names, const exchange::ScoreRows& rows,
           exchange::ScoreKeys keys, const exchange::CurveRules& rules)
      : OrderedFigures(std::move(names)), curves_(rows, keys), rules_(rules) {
    curves_.count({}, whole_);
  }

  std::vector<std::optional<double>> values(metrics::RowWeights weights) const override {
    if (weights.empty()) return values_of(exchange::curve_metrics(whole_, names(), rules_));
    curves_.count(weights, counts_);
    return values_of(exchange::replicate_metrics(counts_, whole_, names(), rules_));
  }

 private:
  exchange::PreparedCurves curves_;
  exchange::CurveRules rules_;
  std::vector<exchange::CurveCounts> whole_;
  mutable std::vector<exchange::CurveCounts> counts_;  // their room is used again and again
};

class OfRanks : public OrderedFigures {
 public:
  explicit OfRanks(const exchange::PairRows& rows) : OrderedFigures({kSpearman}), ranks_(rows) {}

  std::vector<std::optional<double>> values(metrics::RowWeights weights) const override {
    return {exchange::mean_spearman(ranks_.sum(weights))};
  }

 private:
  exchange::PreparedRanks ranks_;
};

}  // namespace

std::unique_ptr<OrderedFigures> curve_figures(const std::vector<std::string>& names,
                                              const exchange::ScoreRows& rows,
                                              exchange::ScoreKeys keys,
                                              const exchange::CurveRules& rules) {
  std::vector<std::string> of_curves = exchange::curve_metric_names(names);
  if (of_curves.empty()) return nullptr;
  return std::make_unique<OfCurves>(std::move(of_curves), rows, keys, rules);
}

std::unique_ptr<OrderedFigures> rank_figures(const std::vector<std::string>& names,
                                             const exchange::PairRows& rows) {
  if (!metrics::contains(names, kSpearman)) return nullptr;
  return std::make_unique<OfRanks>(rows);
}

}  // namespace tally::compare
