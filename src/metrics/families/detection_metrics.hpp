// SPDX-License-Identifier: Apache-2.0
// Detection: objects and what was found of them per class, and recall. Precision needs the order of
// all detections (room `distributed_metrics`).
#pragma once

#include <cstdint>

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

// What recall is counted of: all areas with the best 1, 10 and 100 detections of an image and
// class, and the other areas with 100.
inline constexpr int kBest1 = 0, kBest10 = 1, kBest100 = 2;
inline constexpr int kRecallSmall = 3, kRecallMedium = 4, kRecallLarge = 5;
inline constexpr int kNumRecallKinds = 6;

struct DetectionCounters {
  std::int64_t objects = kNotKept;    // [classes, area ranges]
  std::int64_t predicted = kNotKept;  // [classes]
  std::int64_t found = kNotKept;      // [classes, kinds, thresholds]

  template <class Add>
  constexpr void count_row(const ObjectRow& row, const Add& add) const {
    const std::int64_t label = row.label;
    for (int area = 0; area < kNumAreaRanges; ++area) {
      if ((row.areas >> area & 1) != 0) add(objects + label * kNumAreaRanges + area, 1);
    }
  }

  template <class Add>
  constexpr void count_row(const DetectionRecord& row, const Add& add) const {
    const std::int64_t label = row.label;
    add(predicted + label, 1);
    for (int t = 0; t < kNumIouThresholds; ++t) {
      const auto count_if = [&](bool counts, int area, int kind) {
        if (!counts || (row.right & verdict_bit(area, t)) == 0) return;
        add(found + (label * kNumRecallKinds + kind) * kNumIouThresholds + t, 1);
      };
      count_if(row.place < 1, kAllAreas, kBest1);
      count_if(row.place < 10, kAllAreas, kBest10);
      count_if(true, kAllAreas, kBest100);
      count_if(true, kSmall, kRecallSmall);
      count_if(true, kMedium, kRecallMedium);
      count_if(true, kLarge, kRecallLarge);
    }
  }
};

// Made after the loop; first, as COCO lists it.
FamilyEntry average_precision_family();
FamilyEntry detection_family();

}  // namespace tally::metrics
