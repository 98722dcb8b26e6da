// SPDX-License-Identifier: Apache-2.0
// Defines the counts from which every metric of a ROC or precision-recall curve follows, and makes
// the points of these curves, for tables and plots.
#pragma once

#include <cstdint>
#include <vector>

namespace tally::ordered_metrics {

// One class. Thresholds are the distinct scores of positives, descending; negatives between two of
// them are one number, because their order changes no metric. Entry i of each vector belongs to
// thresholds[i].
struct CurveCounts {
  std::vector<float> thresholds;
  std::vector<std::int64_t> positives_at;     // score == threshold
  std::vector<std::int64_t> negatives_at;     // score == threshold
  std::vector<std::int64_t> negatives_above;  // threshold < score < the threshold before it
  std::int64_t positives = 0;
  std::int64_t negatives = 0;  // also those below the last threshold
  bool operator==(const CurveCounts&) const = default;
};

// What counts as predicted positive at a point: scores >= threshold, or only scores above it.
enum class ThresholdSide { at_least, above };

struct RocPoint {
  double false_positive_rate = 0;
  double true_positive_rate = 0;
  float threshold = 0;
  ThresholdSide side = ThresholdSide::at_least;
};

// The corners of the ROC polyline, from (0, 0), whose threshold is +Inf, to (1, 1), whose threshold
// is the lowest positive's score or -Inf. Points on the straight line between their neighbours are
// left out, so the list depends on the curve alone. scikit-learn's roc_curve draws the same line;
// it keeps some points on it, also with drop_intermediate. Empty without positives or negatives.
std::vector<RocPoint> roc_points(const CurveCounts& counts);

struct PrecisionRecallPoint {
  double precision = 0;
  double recall = 0;
  float threshold = 0;
};

// One point for each score of a positive, from the largest on: where recall rises. Between two of
// them recall stays and precision falls. scikit-learn's and torchmetrics' lists hold those falling
// points too, and (precision 1, recall 0) at the other end. Empty without positives.
std::vector<PrecisionRecallPoint> precision_recall_points(const CurveCounts& counts);

}  // namespace tally::ordered_metrics
