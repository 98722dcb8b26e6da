// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/curve_counts_and_points.hpp>

#include "curve_walk.hpp"
#include "int128.hpp"

namespace tally::ordered_metrics {
namespace {

// True if the way from a over b to c is one straight line. Products of two counts need 128 bits;
// they are exact, so that the list of corners depends on the counts alone and not on rounding.
bool is_straight(const CurvePlace& a, const CurvePlace& b, const CurvePlace& c) {
  return Wide{b.false_positives - a.false_positives} * (c.true_positives - b.true_positives) ==
         Wide{c.false_positives - b.false_positives} * (b.true_positives - a.true_positives);
}

std::vector<CurvePlace> corners(const CurveCounts& counts) {
  std::vector<CurvePlace> places{CurvePlace{}};
  walk(counts, [&](const CurvePlace& place) {
    const std::size_t n = places.size();
    // Dropping the place before keeps the direction of the last segment, so that the places before
    // it need no second look.
    if (n > 1 && is_straight(places[n - 2], places[n - 1], place)) places.pop_back();
    places.push_back(place);
    return true;
  });
  return places;
}

}  // namespace

std::vector<RocPoint> roc_points(const CurveCounts& counts) {
  std::vector<RocPoint> points;
  if (counts.positives == 0 || counts.negatives == 0) return points;
  const auto positives = static_cast<double>(counts.positives);
  const auto negatives = static_cast<double>(counts.negatives);
  for (const CurvePlace& place : corners(counts)) {
    points.push_back({static_cast<double>(place.false_positives) / negatives,
                      static_cast<double>(place.true_positives) / positives, place.threshold,
                      place.side});
  }
  return points;
}

std::vector<PrecisionRecallPoint> precision_recall_points(const CurveCounts& counts) {
  std::vector<PrecisionRecallPoint> points;
  for_each_threshold(counts, [&](const CurvePlace& place) {
    const double recall =
        static_cast<double>(place.true_positives) / static_cast<double>(counts.positives);
    points.push_back({precision_of(place), recall, place.threshold});
  });
  return points;
}

}  // namespace tally::ordered_metrics
