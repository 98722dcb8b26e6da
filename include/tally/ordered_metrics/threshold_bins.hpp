// SPDX-License-Identifier: Apache-2.0
// Collects the distinct scores of positives, and lays out all counts of all curves as one vector of
// bins: each element of the scores belongs to one bin.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/score_rows.hpp>

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

// A class with thresholds t_0 > t_1 > … has, for each of them, the bins of negatives above it (and
// below the one before), negatives at it and positives at it; at the end one bin of negatives
// below all.
class ThresholdBins {
 public:
  // `keys`: score_key() of every threshold, sorted, each once.
  ThresholdBins(std::span<const std::uint64_t> keys, std::int64_t num_classes);

  static constexpr int kNowhere = -1;

  std::int64_t num_bins() const;
  // The bin of each element of a window, kNowhere of what does not count. Every positive's score
  // is one of the thresholds.
  void find(const ScoreWindow& window, std::span<std::int64_t> bins) const;
  // The curves that the counts of all bins stand for; reuses the room of `curves`.
  void fill(std::span<const std::int64_t> counts, std::vector<CurveCounts>& curves) const;

 private:
  std::span<const float> thresholds_of(std::size_t c) const {
    return std::span(thresholds_).subspan(to_size(first_[c]), to_size(first_[c + 1] - first_[c]));
  }
  std::int64_t first_bin(std::size_t c) const {
    return 3 * first_[c] + static_cast<std::int64_t>(c);
  }
  void find_in_order(const ScoreWindow& window, std::size_t c, std::span<std::int64_t> bins) const;

  std::vector<float> thresholds_;    // of all classes
  std::vector<std::int64_t> first_;  // [classes + 1]: where a class begins in thresholds_
};

// Adds the keys of the positives of these rows. Fails as for_each_window() does; Error(internal)
// for no class.
void collect_positives(const ScoreRows& rows, ScoreKeys keys, DistinctKeys& found);

// The bins of these rows alone.
ThresholdBins bins_of(const ScoreRows& rows, ScoreKeys keys);

}  // namespace tally::ordered_metrics
