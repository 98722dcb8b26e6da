// How eight lanes share a row of scores: what each finds in every eighth score, and how two finds
// become one. Joined in the order of the lanes it gives what the CPU's loops give (row_kernel.cpp),
// to the last bit. Constexpr: kernels run it with a thread per lane, a test on the CPU one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "scalar.hpp"

namespace tally::metrics {

inline constexpr int kLanes = 8;

struct Scores {
  const float* row = nullptr;
  std::int64_t num_classes = 0;
  OutputKind kind = OutputKind::logits;
};

struct Peak {
  float score = -std::numeric_limits<float>::infinity();
  bool has_bad_score = false;
  bool fits_kind = true;

  constexpr bool is_finite() const {
    return !has_bad_score && score != -std::numeric_limits<float>::infinity();
  }
};

constexpr Peak find_peak(const Scores& scores, int lane) {
  Peak mine;
  for (std::int64_t i = lane; i < scores.num_classes; i += kLanes) {
    const float score = scores.row[i];
    mine.score = score > mine.score ? score : mine.score;
    mine.has_bad_score |= is_bad(score, scores.kind);
    mine.fits_kind &= fits_kind(score, scores.kind);
  }
  return mine;
}

constexpr Peak join(const Peak& a, const Peak& b) {
  return {a.score > b.score ? a.score : b.score, a.has_bad_score || b.has_bad_score,
          a.fits_kind && b.fits_kind};
}

// How the scores stand to the largest one and to the true class's.
struct Standing {
  std::int64_t prediction = std::numeric_limits<std::int64_t>::max();  // first class at the peak
  std::int32_t ahead = 0;  // classes that come before the true one: its rank
  std::int32_t equal = 0;  // other classes with its score
};

// label: -1 if there is none.
constexpr Standing compare(const Scores& scores, float peak, float truth, std::int64_t label,
                           int lane) {
  Standing mine;
  for (std::int64_t i = lane; i < scores.num_classes; i += kLanes) {
    const float score = scores.row[i];
    if (score == peak) mine.prediction = std::min(mine.prediction, i);
    if (i == label) continue;
    mine.equal += score == truth;
    mine.ahead += score > truth || (score == truth && i < label);
  }
  return mine;
}

constexpr Standing join(const Standing& a, const Standing& b) {
  return {std::min(a.prediction, b.prediction), a.ahead + b.ahead, a.equal + b.equal};
}

constexpr double sum_exp(const Scores& scores, float peak, int lane) {
  double mine = 0;
  for (std::int64_t i = lane; i < scores.num_classes; i += kLanes) {
    mine += exp_of_negative(double{scores.row[i]} - double{peak});
  }
  return mine;
}

constexpr double join(double a, double b) { return a + b; }

}  // namespace tally::metrics
