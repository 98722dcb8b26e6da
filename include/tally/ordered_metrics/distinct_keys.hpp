// The distinct scores of positives, class by class.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace tally::ordered_metrics {

// Class and score as one integer: sorted, classes ascend and the scores of a class descend.
constexpr std::uint64_t score_key(std::size_t c, float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  const std::uint32_t ascending = (bits >> 31) != 0 ? ~bits : bits | 0x80000000;
  return (static_cast<std::uint64_t>(c) << 32) | static_cast<std::uint32_t>(~ascending);
}
constexpr std::size_t class_of_key(std::uint64_t key) {
  return static_cast<std::size_t>(key >> 32);
}
constexpr float score_of_key(std::uint64_t key) {
  const auto ascending = ~static_cast<std::uint32_t>(key);
  return std::bit_cast<float>((ascending >> 31) != 0 ? ascending & 0x7fffffff : ~ascending);
}

// A growing set of keys; room for about twice the distinct ones, whatever is added how often.
class DistinctKeys {
 public:
  void add(std::uint64_t key) {
    keys_.push_back(key);
    if (keys_.size() >= limit_) compact();
  }
  // Sorted, each key once.
  std::span<const std::uint64_t> sorted();

 private:
  static constexpr std::size_t kFirstLimit = std::size_t{1} << 20;
  void compact();

  std::vector<std::uint64_t> keys_;
  std::size_t limit_ = kFirstLimit;
};

}  // namespace tally::ordered_metrics
