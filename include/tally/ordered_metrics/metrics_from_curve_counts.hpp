// SPDX-License-Identifier: Apache-2.0
// Computes the metrics of one class's curve, as pure functions of integer counts, and their
// averages over classes. There is no value where a metric is undefined.
#pragma once

#include <optional>
#include <span>

#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>

namespace tally::ordered_metrics {

// Area under the ROC curve (trapezoids): the share of pairs of a positive and a negative in which
// the positive has the larger score, a tie counting half. An integer quotient, rounded once. None
// without positives or without negatives.
std::optional<double> auroc(const CurveCounts& counts);

// The area up to false positive rate `max_fpr`, the curve interpolated linearly there, standardised
// to 0.5 for no discrimination and 1 for perfection (McClish 1989; scikit-learn's and torchmetrics'
// max_fpr). At 1 it is auroc(). None as there; Error(usage) outside (0, 1].
std::optional<double> partial_auroc(const CurveCounts& counts, double max_fpr);

// Average precision: the sum over thresholds of (R_n - R_{n-1}) P_n, without interpolation. None
// without positives.
std::optional<double> average_precision(const CurveCounts& counts);

// The best that can be had under a condition, and the score from which on (>=) a sample then counts
// as positive; no threshold where no score meets the condition, the value is 0 then.
struct OperatingPoint {
  double value = 0;
  std::optional<float> threshold;
};

// Largest precision among thresholds with recall >= min_recall, and largest recall among those with
// precision >= min_precision; both rates are rounded to double before they are compared. Of equally
// good thresholds the one with the larger other rate. None without positives. As torchmetrics'
// BinaryPrecisionAtFixedRecall and BinaryRecallAtFixedPrecision.
std::optional<OperatingPoint> precision_at_recall(const CurveCounts& counts, double min_recall);
std::optional<OperatingPoint> recall_at_precision(const CurveCounts& counts, double min_precision);

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
