// SPDX-License-Identifier: Apache-2.0
// Computes the metrics that are made of curves, by their names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/results.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/metrics_from_curve_counts.hpp>

namespace tally::ordered_metrics {

// Which curves a task has and whose rules hold.
struct CurveRules {
  Targets targets = Targets::multiclass;
  metrics::Definitions definitions = metrics::Definitions::torchmetrics;
};

// Those of `names` that are made of curves, in their order. Of one curve, which a binary task has:
//   auroc, auroc_max_fpr_<x>, average_precision, precision_at_recall_<x>, recall_at_precision_<x>;
// averages over classes: the same with _macro behind, the first three also with _weighted.
std::vector<std::string> curve_metric_names(const std::vector<std::string>& names);

// Pure. One value for each of these names; operating points of one curve with their threshold.
std::vector<metrics::MetricValue> curve_metrics(std::span<const CurveCounts> curves,
                                                const std::vector<std::string>& names,
                                                const CurveRules& rules);

// Pure. The same of a replicate of `whole`, entry for entry the same classes. None where a class
// lost all its positives or all its negatives (from a weighted average: its negatives), for what
// the rules put in its place would make the values jump and their percentiles no interval.
std::vector<metrics::MetricValue> replicate_metrics(std::span<const CurveCounts> replicate,
                                                    std::span<const CurveCounts> whole,
                                                    const std::vector<std::string>& names,
                                                    const CurveRules& rules);

// Pure. Adds to the metrics of each class "auroc" and "average_precision", and what `names` has
// averages of: "precision_at_recall_0.9" where they hold "precision_at_recall_0.9_macro".
void add_class_metrics(std::span<const CurveCounts> curves, const std::vector<std::string>& names,
                       std::vector<metrics::ClassMetrics>& classes);

}  // namespace tally::ordered_metrics
