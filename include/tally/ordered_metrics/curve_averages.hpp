// Averages of curve metrics over classes.
#pragma once

#include <optional>
#include <span>

#include <tally/metrics/definitions.hpp>
#include <tally/ordered_metrics/curve_counts.hpp>

namespace tally::ordered_metrics {

// An AUROC may be partial; an operating point is precision at a recall, or the reverse.
enum class CurveMetric { auroc, average_precision, operating_point };
enum class Average { macro, weighted };     // plain mean; weighted by positives
enum class Targets { multiclass, labels };  // one class a sample; any number of labels, or binary

// `values`: this metric of each of `curves`. What an undefined one means:
//
//   metric, average            torchmetrics          sklearn
//   AUROC, macro               counts as 0           the average is undefined
//   AUROC, weighted            counts as 0           no positives: weighs nothing;
//                                                    no negatives: the average is undefined
//   AP, multiclass             left out              counts as 0
//   AP, labels                 counts as 0           counts as 0
//   operating point            counts as 0           counts as 0
//
// scikit-learn has no function for the last: 0 is what its precision_recall_curve() leads to.
// A weighted average without any positive is 0 in both. The average of one label is its own value,
// an undefined one counting as in macro. None where nothing is counted: all are left out, or no
// class has a sample. Where all samples are of class 0, torchmetrics itself counts the AP of the
// other classes as 0; here they are left out, as where all are of class 1.
std::optional<double> average_over_classes(std::span<const CurveCounts> curves,
                                           std::span<const std::optional<double>> values,
                                           CurveMetric metric, Average average, Targets targets,
                                           metrics::Definitions definitions);

}  // namespace tally::ordered_metrics
