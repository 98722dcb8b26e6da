// SPDX-License-Identifier: Apache-2.0
// Computes the precision of detections at fixed recalls, as COCO's evaluation reads it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <tally/metrics/sample_records.hpp>

namespace tally::ordered_metrics {

// Recalls at which precision is read: 0, 0.01 … 1, the doubles of numpy.linspace(0, 1, 101).
inline constexpr int kNumRecallPoints = 101;
std::array<double, kNumRecallPoints> recall_points();

// `ranked`: detections of one class, the best first; num_objects > 0 that count. The largest
// precision that is had with at least so much recall; 0 where there is none. As pycocotools has it,
// with its rounding.
std::array<double, kNumRecallPoints> precision_at_recalls(
    std::span<const metrics::DetectionRecord> ranked, std::uint64_t verdict,
    std::int64_t num_objects);

}  // namespace tally::ordered_metrics
