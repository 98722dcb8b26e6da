// SPDX-License-Identifier: Apache-2.0
// Reads one rank's part of the scores that curves are made of, in the one way in which they are
// read: window by window, checked, as keys.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace tally::ordered_metrics {

inline constexpr std::uint8_t kNegative = 0;
inline constexpr std::uint8_t kPositive = 1;
inline constexpr std::uint8_t kNotCounted = 2;  // an ignored element, or a row without scores

// Rows in the order of the data set; every class is one binary problem (one-vs-rest), a binary task
// has one class. Rows are read in windows, each of them more than once.
struct ScoreRows {
  std::int64_t num_rows = 0;
  std::int64_t num_classes = 0;  // the same on every rank
  std::int64_t first_index = 0;  // global sample index of this rank's first row
  // Fills rows first .. first + count - 1, counted from this rank's first: scores
  // [count, num_classes] float32, finite where they count; targets [count, num_classes].
  std::function<void(std::int64_t first, std::int64_t count, std::span<float> scores,
                     std::span<std::uint8_t> targets)>
      read;
};

// float32: scores as they are; -0 equals 0. bfloat16: every score is first rounded to the nearest
// bfloat16, ties to even. Scores that round to the same number become equal, so metrics are those
// of tied scores, exact for them; in return a class has at most 16,257 thresholds in [0, 1].
enum class ScoreKeys { float32, bfloat16 };

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
