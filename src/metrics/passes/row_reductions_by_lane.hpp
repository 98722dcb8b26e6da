// SPDX-License-Identifier: Apache-2.0
// How eight lanes share a row of scores: what each finds in every eighth score, and how two finds
// become one. Joined in the order of the lanes it gives what the CPU's loops give
// (row_reduction_loops.hpp), to the last bit. Constexpr: kernels run it with a thread per lane, a
// test on the CPU one by one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include <tally/metrics/multiclass_statistics.hpp>

#include "passes/deterministic_math.hpp"

namespace tally::metrics {

inline constexpr int kLanes = 8;

// A bfloat16 as it is stored: the upper half of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(float score) { return score; }
constexpr float to_float(BFloat16 score) {
  return std::bit_cast<float>(std::uint32_t{score.bits} << 16);
}

// Score: float or BFloat16.
template <class Score>
struct Scores {
  const Score* row = nullptr;
  std::int64_t num_classes = 0;
  OutputKind kind = OutputKind::logits;

  constexpr float operator[](std::int64_t i) const { return to_float(row[i]); }
};

struct RowMax {
  float score = -std::numeric_limits<float>::infinity();
  bool has_bad_score = false;
  bool fits_kind = true;

  constexpr bool is_finite() const {
    return !has_bad_score && score != -std::numeric_limits<float>::infinity();
  }
};

template <class Score>
constexpr RowMax find_row_max(const Scores<Score>& scores, int lane) {
  RowMax found;
  for (std::int64_t i = lane; i < scores.num_classes; i += kLanes) {
    const float score = scores[i];
    found.score = score > found.score ? score : found.score;
    found.has_bad_score |= is_bad(score, scores.kind);
    found.fits_kind &= fits_kind(score, scores.kind);
  }
  return found;
}

constexpr RowMax join(const RowMax& a, const RowMax& b) {
  return {a.score > b.score ? a.score : b.score, a.has_bad_score || b.has_bad_score,
          a.fits_kind && b.fits_kind};
}

// How the scores stand to the largest one and to the true class's.
struct LabelRank {
  std::int64_t prediction = std::numeric_limits<std::int64_t>::max();  // first class at the peak
  std::int32_t greater = 0;                                            // than the true class's
  std::int32_t equal_before = 0;  // other classes with its score and a smaller index
  std::int32_t equal = 0;         // other classes with its score
  float runner_up = -std::numeric_limits<float>::infinity();  // largest of the other classes
};

// Both in one reading of the row. label: -1 if there is none.
struct Reading {
  LabelRank label_rank;
  Terms terms;
};

template <class Score>
constexpr Reading read_row(const Scores<Score>& scores, float peak, float truth, std::int64_t label,
                           int lane) {
  const double shift = scores.kind == OutputKind::logits ? double{peak} : 0.0;
  Reading found;
  auto& [label_rank, terms] = found;
  for (std::int64_t i = lane; i < scores.num_classes; i += kLanes) {
    const float score = scores[i];
    const double term = term_of(score, shift, scores.kind);
    terms.sum += term;
    terms.squares += term * term;
    if (score == peak) label_rank.prediction = std::min(label_rank.prediction, i);
    if (i == label) continue;
    label_rank.runner_up = score > label_rank.runner_up ? score : label_rank.runner_up;
    label_rank.greater += score > truth;
    label_rank.equal += score == truth;
    label_rank.equal_before += score == truth && i < label;
  }
  return found;
}

constexpr LabelRank join(const LabelRank& a, const LabelRank& b) {
  return {std::min(a.prediction, b.prediction), a.greater + b.greater,
          a.equal_before + b.equal_before, a.equal + b.equal,
          a.runner_up > b.runner_up ? a.runner_up : b.runner_up};
}

constexpr Terms join(const Terms& a, const Terms& b) {
  return {a.sum + b.sum, a.squares + b.squares};
}

constexpr Reading join(const Reading& a, const Reading& b) {
  return {join(a.label_rank, b.label_rank), join(a.terms, b.terms)};
}

// Sum over the classes of weight * -log(probability), for label smoothing.
template <class Score>
constexpr double sum_negative_log_likelihood(const Scores<Score>& scores, double log_total,
                                             const double* weights, int lane) {
  double found = 0;
  for (std::int64_t i = lane; i < scores.num_classes; i += kLanes) {
    const double of_class = negative_log_likelihood(scores[i], log_total, scores.kind);
    found += weights == nullptr ? of_class : weights[i] * of_class;
  }
  return found;
}

constexpr double join(double a, double b) { return a + b; }

// The loss as the rules want it (torch's cross_entropy with reduction="none").
// mean_negative_log_likelihood: sum_negative_log_likelihood() / classes, looked at where there is
// smoothing.
constexpr double ruled_loss(double plain, double mean_negative_log_likelihood, std::int64_t label,
                            const ScoreRules& rules) {
  double loss = rules.class_weights == nullptr ? plain : rules.class_weights[label] * plain;
  if (rules.label_smoothing > 0) {
    loss =
        (1.0 - rules.label_smoothing) * loss + rules.label_smoothing * mean_negative_log_likelihood;
  }
  return loss;
}

// What is left to fill of a row, by whether its label is scored and its scores are finite. The
// smallest parts of the pass, too, are the same code on CPUs and GPUs.
constexpr void mark_not_finite(MulticlassRecord& row) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  row.prediction = -1;
  row.finite = false;
  row.loss = row.confidence = row.brier = row.hinge = kNone;
}

constexpr void fill_ignored(double confidence, MulticlassRecord& row) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  row.confidence = confidence;
  row.loss = row.brier = row.hinge = kNone;
}

// mean_negative_log_likelihood: sum_negative_log_likelihood() / classes, looked at where there is
// smoothing.
constexpr void fill_scored(const LabelRank& label_rank, const Judgement& judgement,
                           double mean_negative_log_likelihood, const ScoreRules& rules,
                           MulticlassRecord& row) {
  row.label_rank = label_rank.greater + label_rank.equal_before;
  row.best_rank = label_rank.greater;
  row.worst_rank = label_rank.greater + label_rank.equal;
  row.loss = ruled_loss(judgement.loss, mean_negative_log_likelihood, row.label, rules);
  row.confidence = judgement.confidence;
  row.brier = judgement.brier;
  row.hinge = judgement.hinge;
}

}  // namespace tally::metrics
