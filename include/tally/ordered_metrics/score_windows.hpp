// The one way in which scores are read: window by window, checked, as keys.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <tally/ordered_metrics/score_rows.hpp>

namespace tally::ordered_metrics {

struct ScoreWindow {
  std::int64_t first = 0;  // counted from this rank's first row
  std::size_t num_classes = 0;
  std::span<const float> scores;          // [count, classes]; finite where counted, never -0
  std::span<const std::uint8_t> targets;  // [count, classes]
};

// Not collective. All rows in order. Error(numeric) names the first counted score that is not
// finite, Error(internal) an unknown target.
void for_each_window(const ScoreRows& rows, ScoreKeys keys,
                     const std::function<void(const ScoreWindow&)>& take);

// Calls visit(element, class, score, is_positive) for what counts, in row order.
template <class Visit>
void for_each_element(const ScoreWindow& window, const Visit& visit) {
  std::size_t i = 0;
  while (i < window.scores.size()) {
    for (std::size_t c = 0; c < window.num_classes; ++c, ++i) {
      if (window.targets[i] != kNotCounted) {
        visit(i, c, window.scores[i], window.targets[i] == kPositive);
      }
    }
  }
}

// The nearest bfloat16, ties to even; finite values.
float nearest_bfloat16(float value);

}  // namespace tally::ordered_metrics
