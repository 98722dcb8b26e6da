// SPDX-License-Identifier: Apache-2.0
// The places along a curve, from the highest score down.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <tally/ordered_metrics/curve_counts_and_points.hpp>

namespace tally::ordered_metrics {

// What is predicted positive with scores >= or > `threshold`.
struct CurvePlace {
  std::int64_t true_positives = 0;
  std::int64_t false_positives = 0;
  std::int64_t positives_here = 0;  // of these, with just this score
  float threshold = std::numeric_limits<float>::infinity();
  ThresholdSide side = ThresholdSide::at_least;
};

// Calls visit(place) for each place where counts change, so that a straight line leads from one to
// the next, starting at (0, 0), which is not visited: for each threshold the place above it, then
// at it; at the end the one with everything. Stops where visit returns false.
template <class Visit>
void walk(const CurveCounts& counts, const Visit& visit) {
  CurvePlace place;
  for (std::size_t i = 0; i < counts.thresholds.size(); ++i) {
    place.threshold = counts.thresholds[i];
    if (counts.negatives_above[i] > 0) {
      place.false_positives += counts.negatives_above[i];
      place.positives_here = 0;
      place.side = ThresholdSide::above;
      if (!visit(place)) return;
    }
    if (counts.positives_at[i] + counts.negatives_at[i] > 0) {
      place.true_positives += counts.positives_at[i];
      place.false_positives += counts.negatives_at[i];
      place.positives_here = counts.positives_at[i];
      place.side = ThresholdSide::at_least;
      if (!visit(place)) return;
    }
  }
  if (counts.negatives > place.false_positives) {
    visit(CurvePlace{place.true_positives, counts.negatives, 0,
                     -std::numeric_limits<float>::infinity(), ThresholdSide::at_least});
  }
}

// Calls visit(place) at each score of a positive.
template <class Visit>
void for_each_threshold(const CurveCounts& counts, const Visit& visit) {
  walk(counts, [&](const CurvePlace& place) {
    if (place.positives_here > 0) visit(place);
    return true;
  });
}

inline double precision_of(const CurvePlace& place) {
  return static_cast<double>(place.true_positives) /
         static_cast<double>(place.true_positives + place.false_positives);
}

}  // namespace tally::ordered_metrics
