// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one label that is judged by itself: constexpr and free of library functions, as
// in deterministic_math.hpp, so that CPUs and GPUs find the same bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "passes/deterministic_math.hpp"

namespace tally::metrics {

// What the scores say of one label.
struct Chance {
  double probability = 0;  // that it is set, in [0, 1]
  double loss_if_set = 0;  // cross entropy; finite
  double loss_if_not = 0;
  double decision = 0;  // score for it less the score against it; may be infinite
};

// 1 - exp(x) for x <= 0; also near 0, where subtracting would leave no digits.
constexpr double one_minus_exp(double x) {
  if (x < -0.5) return 1.0 - exp_of_negative(x);
  // -x (1 + x/2 (1 + x/3 (1 + …))): the terms end below 2^-56.
  double series = 1;
  for (int k = 17; k >= 2; --k) series = 1.0 + series * x / k;
  return (0.0 - x) * series;
}

// log(1 + e) for e in [0, 1]; also near 0, where 1 + e has lost digits of e: Kahan's correction,
// see Goldberg, "What every computer scientist should know about floating-point arithmetic",
// theorem 4.
constexpr double log_of_one_plus(double e) {
  const double rounded = 1.0 + e;
  return rounded == 1.0 ? e : natural_log(rounded) * (e / (rounded - 1.0));
}

// The logistic function, and cross entropy as log(1 + exp(∓x)).
constexpr Chance chance_of_log_odds(double x) {
  const double e = exp_of_negative(std::min(x, 0.0 - x));
  const double shared = log_of_one_plus(e);
  Chance chance;
  chance.probability = (x >= 0 ? 1.0 : e) / (1.0 + e);
  chance.loss_if_set = bounded_loss(shared + std::max(0.0, 0.0 - x));
  chance.loss_if_not = bounded_loss(shared + std::max(0.0, x));
  return chance;
}

// A probability or its logarithm may lie a little out of range (kSlack).
constexpr double as_probability(float score) { return std::min(1.0, std::max(0.0, double{score})); }
constexpr double as_log_probability(float score) { return std::min(0.0, double{score}); }

// One score: of the label being set.
constexpr Chance chance_of(float score, OutputKind kind) {
  Chance chance;
  if (kind == OutputKind::logits) {
    chance = chance_of_log_odds(score);
  } else if (kind == OutputKind::probabilities) {
    chance.probability = as_probability(score);
    chance.loss_if_set = bounded_loss(0.0 - natural_log(chance.probability));
    chance.loss_if_not = bounded_loss(0.0 - natural_log(1.0 - chance.probability));
  } else {
    const double log_probability = as_log_probability(score);
    chance.probability = exp_of_negative(log_probability);
    chance.loss_if_set = bounded_loss(0.0 - log_probability);
    chance.loss_if_not = bounded_loss(0.0 - natural_log(one_minus_exp(log_probability)));
  }
  chance.decision = score;
  return chance;
}

// Two scores, of the label not being set and of its being set; at most one of them is -Inf.
constexpr Chance chance_of(float against, float in_favour, OutputKind kind) {
  const double decision = double{in_favour} - double{against};
  Chance chance;
  if (kind == OutputKind::logits) {
    chance = chance_of_log_odds(decision);
  } else {
    chance = chance_of(in_favour, kind);
    chance.loss_if_not = chance_of(against, kind).loss_if_set;
  }
  chance.decision = decision;
  return chance;
}

// max(0, 1 - margin), the margin being `value` for a label that is set, else its negative.
constexpr double hinge_of(double value, bool is_set) {
  const double loss = is_set ? 1.0 - value : 1.0 + value;
  return std::min(std::max(0.0, loss), double{std::numeric_limits<float>::max()});
}

}  // namespace tally::metrics
