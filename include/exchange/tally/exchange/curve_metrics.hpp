// The metrics that are made of curves, by their names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tally/exchange/curve_averages.hpp>
#include <tally/exchange/curve_counts.hpp>
#include <tally/metrics/definitions.hpp>
#include <tally/metrics/results.hpp>

namespace tally::exchange {

// Which curves a task has and whose rules hold.
struct CurveRules {
  Targets targets = Targets::multiclass;
  metrics::Definitions definitions = metrics::Definitions::torchmetrics;
};

// Those of `names` that are made of curves, in their order, a binary task's of its one curve:
//   auroc_macro, auroc_weighted, average_precision_macro, average_precision_weighted;
//   auroc, auroc_max_fpr_<x>, average_precision, precision_at_recall_<x>, recall_at_precision_<x>
std::vector<std::string> curve_metric_names(const std::vector<std::string>& names);

// Pure. One value for each of these names.
std::vector<metrics::MetricValue> curve_metrics(std::span<const CurveCounts> curves,
                                                const std::vector<std::string>& names,
                                                const CurveRules& rules);

// Pure. Adds "auroc" and "average_precision" to the figures of each class.
void add_class_figures(std::span<const CurveCounts> curves,
                       std::vector<metrics::ClassFigures>& classes);

}  // namespace tally::exchange
