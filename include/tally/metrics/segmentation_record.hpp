// An image whose pixels are classified one by one, as counts per class. Plain data.
#pragma once

#include <cstdint>

namespace tally::metrics {

struct SegmentationRecord {
  std::uint64_t index = 0;  // of the image
  bool ignored = false;     // none of its pixels is scored
  bool finite = true;       // false: scores hold NaN or Inf; pixels that have them count as wrong
  std::int64_t num_classes = 0;
  // [num_classes] each; of the pixels that are scored:
  const std::int64_t* support = nullptr;    // with this label
  const std::int64_t* predicted = nullptr;  // predicted as this class
  const std::int64_t* correct = nullptr;    // both
  // The pixels themselves, for the confusion matrix; none where only counts were kept.
  const std::int32_t* labels = nullptr;       // [num_pixels]; -1: not scored
  const std::int32_t* predictions = nullptr;  // [num_pixels]; -1: none
  std::int64_t num_pixels = 0;
};

}  // namespace tally::metrics
