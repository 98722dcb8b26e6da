// The points of one class's curves, for tables and plots.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/ordered_metrics/curve_counts.hpp>

namespace tally::ordered_metrics {

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
