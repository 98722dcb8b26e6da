// SPDX-License-Identifier: Apache-2.0
// Computes the average precision of detections (COCO), which needs the detections of a class in the
// order of their scores over all ranks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::distributed_metrics {

// Pure. The rank on which each class is finished, so that none has many more rows than others.
std::vector<int> owners_of_classes(std::span<const std::int64_t> rows_per_class, int num_ranks);

// One rank's detections, in any order. `read` is called with windows of them.
struct DetectionRows {
  std::int64_t num_rows = 0;
  std::function<void(std::int64_t first, std::int64_t count,
                     std::span<metrics::DetectionRecord> rows)>
      read;
  // Received at a time, at most; no result depends on it.
  std::int64_t window_bytes = std::int64_t{16} << 20;
};

// Of all ranks, the same on every rank.
struct ClassTotals {
  std::span<const std::int64_t> objects;  // [classes, area ranges], those that count
  std::span<const std::int64_t> rows;     // [classes], detections
};

// Means of precision at all recall points. They are made of exact sums, rounded once; none where no
// object counts.
struct AveragePrecisions {
  struct OfClass {
    std::optional<double> ap, ap50;  // of all areas
  };
  std::vector<OfClass> classes;
  std::optional<double> ap, ap50, ap75, ap_small, ap_medium, ap_large;
  // All that they are made of, for digests: equal for any distribution of the rows. Limbs of the
  // sums of these six, and of each class the bits of its mean at each area range and threshold and
  // of its ap.
  std::vector<std::int64_t> evidence;
};

// Collective. All detections have one of the classes. The same on every rank, for any distribution
// of the rows. A rank holds the rows of its classes, 40 bytes each, once, and while they arrive up
// to five times window_bytes. What `read` throws is agreed on: then every rank throws
// AgreedFailure.
AveragePrecisions average_precisions(const comm::Communicator& comm, const DetectionRows& rows,
                                     const ClassTotals& totals);

}  // namespace tally::distributed_metrics
