// Metrics of one class's curve: pure functions of integer counts. None where a metric is undefined.
#pragma once

#include <optional>

#include <tally/ordered_metrics/curve_counts.hpp>

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

}  // namespace tally::ordered_metrics
