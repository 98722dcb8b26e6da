#include <tally/ordered_metrics/distinct_keys.hpp>

#include <algorithm>

namespace tally::ordered_metrics {

std::span<const std::uint64_t> DistinctKeys::sorted() {
  compact();
  return keys_;
}

void DistinctKeys::compact() {
  std::ranges::sort(keys_);
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  limit_ = std::max(kFirstLimit, 2 * keys_.size());
}

}  // namespace tally::ordered_metrics
