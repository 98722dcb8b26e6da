// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one sample, in additions, multiplications and divisions alone: constexpr, and
// the same bits on every CPU and GPU, which no library's exp() and log() promise.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numbers>

#include <tally/metrics/multiclass_statistics.hpp>

namespace tally::metrics {

// Half precision rounds sums and logarithms: so far past its bound a probability may lie.
inline constexpr float kSlack = 0.01f;
// Below it exp() is subnormal, which the sum of a row, at least 1, cannot feel.
inline constexpr double kSmallestExponent = -708.0;
// ln 2 in two parts (Cody and Waite): the first has zeros at its end, so that its products with
// small integers are exact.
inline constexpr double kLn2High = 0x1.62e42feep-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr int kFractionBits = 52;

// exp(x) for x in [kSmallestExponent, 0] with a relative error below 1e-14.
// x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n * Taylor(r). Adding 1.5 * 2^52 rounds to an
// integer, which is then found in the low bits of the sum.
constexpr double exp_in_range(double x) {
  constexpr double kRound = 0x1.8p52;
  const double rounded = x * std::numbers::log2e + kRound;
  const double n = rounded - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // 1 + r + r^2/2! … r^11/11!, in pairs (Estrin): a short chain keeps the processor busy.
  const double r2 = r * r;
  const double r4 = r2 * r2;
  const double low = (1.0 + r) + (1.0 / 2 + r * (1.0 / 6)) * r2;
  const double middle = (1.0 / 24 + r * (1.0 / 120)) + (1.0 / 720 + r * (1.0 / 5040)) * r2;
  const double high =
      (1.0 / 40320 + r * (1.0 / 362880)) + (1.0 / 3628800 + r * (1.0 / 39916800)) * r2;
  const double p = low + (middle + high * r4) * r4;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) +
                               (std::bit_cast<std::uint64_t>(rounded) << kFractionBits));
}

// exp(x) for x <= 0; never 0, but 2^-1022 or so. Not by std::max(), which takes its arguments'
// addresses: a GPU has none of a constant of the host, and nvcc puts a trap in its place.
constexpr double exp_of_negative(double x) {
  return exp_in_range(x < kSmallestExponent ? kSmallestExponent : x);
}

// ln x for normal x > 0 and for 0, which gives -Inf; with an error of about one unit in the last
// place. x = 2^n * m with m in [sqrt(1/2), sqrt(2)); with s = (m - 1) / (m + 1),
// ln m = 2 (s + s^3/3 + s^5/5 + …), where |s| < 0.172 and the terms end below 2^-56.
constexpr double natural_log(double x) {
  if (x == 0) return -std::numeric_limits<double>::infinity();
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdu;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto offset = static_cast<std::int64_t>(bits - kSqrtHalf);
  const std::int64_t n = offset >> kFractionBits;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(n) << kFractionBits));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 0;
  for (int k = 21; k >= 3; k -= 2) series = (series + 1.0 / k) * z;
  const double ln_m = 2.0 * s + 2.0 * s * series;
  const auto steps = static_cast<double>(n);
  return steps * kLn2High + (ln_m + steps * kLn2Low);
}

// Whether a score of this kind of output can be no number: NaN, +Inf, and -Inf where it is no score
// of an impossible class.
constexpr bool is_bad(float score, OutputKind kind) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  constexpr std::uint32_t kMinusInf = 0xff800000;
  const std::uint32_t allowed = kind == OutputKind::probabilities ? 0 : kMinusInf;
  const auto bits = std::bit_cast<std::uint32_t>(score);
  return (std::uint32_t{(bits & kExponent) == kExponent} & std::uint32_t{bits != allowed}) != 0;
}

// Whether a finite score can be of this kind.
constexpr bool fits_kind(float score, OutputKind kind) {
  if (kind == OutputKind::logits) return true;
  if (kind == OutputKind::log_probabilities) return score <= kSlack;
  return score >= -kSlack && score <= 1 + kSlack;
}

// What a score is in a sum over its row: a probability, but for a factor where kind is logits.
// shift: the largest score for logits, else 0.
constexpr double term_of(float score, double shift, OutputKind kind) {
  if (kind == OutputKind::probabilities) return score;
  return exp_of_negative(std::min(0.0, double{score} - shift));
}

// Sums over the terms of a row.
struct Terms {
  double sum = 0;
  double squares = 0;
};

constexpr double bounded_loss(double loss) {
  if (loss == std::numeric_limits<double>::infinity()) return kZeroProbabilityLoss;
  return std::min(loss, double{std::numeric_limits<float>::max()});
}

// -log of a class's probability. log_total: peak + log of the sum for logits.
constexpr double negative_log_likelihood(float score, double log_total, OutputKind kind) {
  // 0.0 - x, not -x: the loss of a certain prediction is 0, not -0.
  if (kind == OutputKind::log_probabilities) return bounded_loss(0.0 - double{score});
  if (kind == OutputKind::probabilities) {
    return bounded_loss(0.0 - natural_log(std::max(0.0, double{score})));
  }
  return bounded_loss(log_total - double{score});
}

// The scores that a judgement rests on.
struct Scored {
  float peak = 0;       // largest score of the row
  float truth = 0;      // the true class's
  float runner_up = 0;  // the largest of the other classes; -Inf if there is none
};

struct Judgement {
  double loss = 0;  // cross entropy of the true class; finite
  double confidence = 0;
  double brier = 0;
  double hinge = std::numeric_limits<double>::quiet_NaN();
};

// The probability of a class with this score; terms are those of its row.
constexpr double probability_of(float score, float peak, const Terms& terms, OutputKind kind) {
  if (kind != OutputKind::logits) return term_of(score, 0.0, kind);
  return term_of(score, peak, kind) / terms.sum;
}

constexpr double hinge_of(const Scored& scored, const Terms& terms, OutputKind kind, HingeOn on) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (on == HingeOn::scores) {
    const double margin = double{scored.truth} - double{scored.runner_up};
    return std::min(std::max(0.0, 1.0 - margin), kMost);
  }
  const double margin = probability_of(scored.truth, scored.peak, terms, kind) -
                        probability_of(scored.runner_up, scored.peak, terms, kind);
  return std::max(0.0, 1.0 - margin);
}

constexpr Judgement judge(const Scored& scored, const Terms& terms, OutputKind kind, HingeOn on) {
  const bool is_logits = kind == OutputKind::logits;
  const double truth = probability_of(scored.truth, scored.peak, terms, kind);
  const double scale = is_logits ? terms.sum * terms.sum : 1.0;
  Judgement judgement;
  judgement.loss =
      is_logits
          ? bounded_loss(natural_log(terms.sum) + (double{scored.peak} - double{scored.truth}))
          : negative_log_likelihood(scored.truth, 0.0, kind);
  // Adding 0.0 makes 0 of -0: of equal scores one may be 0 and another -0.
  judgement.confidence = probability_of(scored.peak, scored.peak, terms, kind) + 0.0;
  judgement.brier = std::max(0.0, terms.squares / scale - 2.0 * truth + 1.0);
  if (on != HingeOn::nothing) judgement.hinge = hinge_of(scored, terms, kind, on);
  return judgement;
}

}  // namespace tally::metrics
