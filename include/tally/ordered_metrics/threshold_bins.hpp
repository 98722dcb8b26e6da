// All counts of all curves as one vector: each element of the scores belongs to one bin of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/ordered_metrics/curve_counts.hpp>
#include <tally/ordered_metrics/distinct_keys.hpp>
#include <tally/ordered_metrics/score_rows.hpp>
#include <tally/ordered_metrics/score_windows.hpp>

namespace tally::ordered_metrics {

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
