// Counts from which every metric of a ROC or precision-recall curve follows.
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

}  // namespace tally::ordered_metrics
