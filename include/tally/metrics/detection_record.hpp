// An object of an image and a detection, as they are counted. Plain data.
#pragma once

#include <cstdint>

namespace tally::metrics {

// By area an object is judged in several ranges, by overlap at several thresholds: COCO's. The
// first range takes all areas.
inline constexpr int kAllAreas = 0, kSmall = 1, kMedium = 2, kLarge = 3;
inline constexpr int kNumAreaRanges = 4;
inline constexpr int kNumIouThresholds = 10;  // 0.50, 0.55 … 0.95

// Of one area range and threshold, in a set of all of them.
constexpr std::uint64_t verdict_bit(int area, int threshold) {
  return std::uint64_t{1} << (area * kNumIouThresholds + threshold);
}

struct ObjectRow {
  std::int32_t label = 0;
  std::uint32_t areas = 0;  // bit a: it counts in area range a
};

// One that takes part. What is neither right nor wrong is ignored.
struct DetectionRecord {
  double score = 0;
  std::int64_t image = 0;   // index of its sample
  std::uint64_t right = 0;  // set of verdict_bit(): it found an object that counts
  std::uint64_t wrong = 0;  // it found nothing
  std::int32_t label = 0;
  std::int32_t place = 0;  // among those of its image and class, the best first
  bool operator==(const DetectionRecord&) const = default;
};

}  // namespace tally::metrics
