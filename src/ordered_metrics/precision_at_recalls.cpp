// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/precision_at_recalls.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include <tally/base/checked_cast.hpp>

namespace tally::ordered_metrics {

std::array<double, kNumRecallPoints> recall_points() {
  std::array<double, kNumRecallPoints> points{};
  // numpy.linspace multiplies a rounded step. i / 100.0 would differ in the last bit for some i,
  // and a recall that equals a point would fall on its other side.
  const double step = 1.0 / (kNumRecallPoints - 1);
  for (int i = 0; i < kNumRecallPoints; ++i) points[to_size(i)] = i * step;
  return points;
}

std::array<double, kNumRecallPoints> precision_at_recalls(
    std::span<const metrics::DetectionRecord> ranked, std::uint64_t verdict,
    std::int64_t num_objects) {
  // What follows is accumulate() of pycocotools, operation by operation, so that each double has
  // its very bits.
  constexpr double kSpacing = std::numeric_limits<double>::epsilon();  // numpy.spacing(1)
  std::vector<double> recalls, precisions;
  recalls.reserve(ranked.size());
  precisions.reserve(ranked.size());
  std::int64_t right = 0, wrong = 0;
  for (const auto& row : ranked) {
    right += (row.right & verdict) != 0 ? 1 : 0;
    wrong += (row.wrong & verdict) != 0 ? 1 : 0;
    recalls.push_back(static_cast<double>(right) / static_cast<double>(num_objects));
    precisions.push_back(static_cast<double>(right) /
                         (static_cast<double>(wrong) + static_cast<double>(right) + kSpacing));
  }
  for (std::size_t i = precisions.size(); i-- > 1;) {
    precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  }
  std::array<double, kNumRecallPoints> found{};
  const auto points = recall_points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    // This is numpy.searchsorted with side "left". Recalls that are never reached keep the
    // precision 0.
    const auto place = std::ranges::lower_bound(recalls, points[i]);
    if (place == recalls.end()) break;
    found[i] = precisions[to_size(place - recalls.begin())];
  }
  return found;
}

}  // namespace tally::ordered_metrics
