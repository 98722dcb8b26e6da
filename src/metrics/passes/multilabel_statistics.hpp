// SPDX-License-Identifier: Apache-2.0
// A sample's labels from its scores. Constexpr: a kernel runs it with a thread per sample, the CPU
// in a loop, to the same bits.
#pragma once

#include <cstdint>
#include <limits>

#include <tally/metrics/multilabel_pass.hpp>
#include <tally/metrics/sample_records.hpp>

#include "passes/sigmoid_losses.hpp"

namespace tally::metrics {

// The scores and targets of one sample.
struct LabelInput {
  const float* scores = nullptr;  // [labels], or [2] of one label
  std::int64_t num_scores = 0;
  const std::int64_t* label = nullptr;  // of the one label there is; or
  const std::uint8_t* set = nullptr;    // [labels]
  std::int64_t num_labels = 0;

  constexpr std::int64_t target(std::int64_t i) const { return label != nullptr ? *label : set[i]; }
  constexpr bool is_pair() const { return num_scores == 2 && num_labels == 1; }
  constexpr Chance chance(std::int64_t i, OutputKind kind) const {
    return is_pair() ? chance_of(scores[0], scores[1], kind) : chance_of(scores[i], kind);
  }
};

// What is kept of each label: [labels] each.
struct LabelPlace {
  float* probabilities = nullptr;
  std::uint8_t* targets = nullptr;
};

// Whether a sample can be counted.
struct LabelVerdict {
  bool fits_kind = true;
  bool good_targets = true;
};

constexpr bool has_finite_scores(const LabelInput& input, OutputKind kind) {
  for (std::int64_t i = 0; i < input.num_scores; ++i) {
    if (is_bad(input.scores[i], kind)) return false;
  }
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  return !input.is_pair() || input.scores[0] != kNone || input.scores[1] != kNone;
}

constexpr bool all_fit_kind(const LabelInput& input, OutputKind kind) {
  for (std::int64_t i = 0; i < input.num_scores; ++i) {
    if (!fits_kind(input.scores[i], kind)) return false;
  }
  return true;
}

// False if a target is none.
constexpr bool copy_targets(const LabelInput& input, const LabelRules& rules, MultilabelRecord& row,
                            std::uint8_t* targets) {
  for (std::int64_t i = 0; i < input.num_labels; ++i) {
    const std::int64_t target = input.target(i);
    const bool ignored = rules.has_ignore_index && target == rules.ignore_index;
    if (!ignored && target != 0 && target != 1) return false;
    targets[i] = ignored ? kNotScored : static_cast<std::uint8_t>(target);
    row.scored += ignored ? 0 : 1;
  }
  return true;
}

// Adds one label to the sums of its sample.
constexpr void judge_label(const Chance& chance, bool is_set, const LabelRules& rules,
                           MultilabelRecord& row) {
  const double off = chance.probability - (is_set ? 1.0 : 0.0);
  const bool predicted = static_cast<float>(chance.probability) > rules.threshold;
  row.right += predicted == is_set ? 1 : 0;
  row.loss += is_set ? chance.loss_if_set : chance.loss_if_not;
  row.brier += off * off;
  if (rules.hinge == HingeOn::probabilities) row.hinge += hinge_of(chance.probability, is_set);
  if (rules.hinge == HingeOn::scores) row.hinge += hinge_of(chance.decision, is_set);
}

// The scored labels by descending probability, ties at their worst rank: scikit-learn's rules.
class Ranking {
 public:
  constexpr explicit Ranking(const LabelSample& sample) : sample_(sample) {
    for (std::int64_t i = 0; i < sample.num_labels; ++i) {
      if (sample.targets[i] == 1) add(sample.probabilities[i]);
    }
  }

  // Labels down to the last one that is set; 0 if none is.
  constexpr std::int64_t coverage() const { return coverage_; }
  // The share of pairs of a label that is set and one that is not, the former not ahead; 0 without
  // pairs.
  constexpr double loss() const {
    const std::int64_t pairs = num_set_ * (sample_.row.scored - num_set_);
    return pairs == 0 ? 0.0 : static_cast<double>(wrong_pairs_) / static_cast<double>(pairs);
  }
  // Mean over the labels that are set of the share of such labels among those up to it; 1 where
  // none is set, or all are.
  constexpr double precision() const {
    if (num_set_ == 0 || num_set_ == sample_.row.scored) return 1.0;
    return shares_ / static_cast<double>(num_set_);
  }

 private:
  constexpr void add(float probability) {
    std::int64_t up_to = 0;
    std::int64_t set_up_to = 0;
    for (std::int64_t i = 0; i < sample_.num_labels; ++i) {
      const bool counts = sample_.targets[i] != kNotScored;
      const bool ahead = sample_.probabilities[i] >= probability;
      up_to += counts && ahead ? 1 : 0;
      set_up_to += sample_.targets[i] == 1 && ahead ? 1 : 0;
    }
    ++num_set_;
    coverage_ = std::max(coverage_, up_to);
    wrong_pairs_ += up_to - set_up_to;
    shares_ += static_cast<double>(set_up_to) / static_cast<double>(up_to);
  }

  LabelSample sample_;
  std::int64_t num_set_ = 0;
  std::int64_t coverage_ = 0;
  std::int64_t wrong_pairs_ = 0;
  double shares_ = 0;
};

constexpr void judge_labels(const LabelInput& input, const LabelRules& rules, MultilabelRecord& row,
                            const LabelPlace& place) {
  if (row.scored > 0) row.loss = row.brier = 0;
  if (row.scored > 0 && rules.hinge != HingeOn::nothing) row.hinge = 0;
  for (std::int64_t i = 0; i < input.num_labels; ++i) {
    const Chance chance = input.chance(i, rules.kind);
    place.probabilities[i] = static_cast<float>(chance.probability);
    if (place.targets[i] != kNotScored) judge_label(chance, place.targets[i] == 1, rules, row);
  }
  if (rules.ranking == LabelRanking::left_out || row.scored == 0) return;
  const Ranking ranking({row, place.probabilities, place.targets, input.num_labels});
  row.coverage = ranking.coverage();
  row.ranking_loss = ranking.loss();
  row.ranking_precision = ranking.precision();
}

// Everything but the index.
constexpr LabelVerdict compute_sample_statistics(const LabelInput& input, const LabelRules& rules,
                                                 MultilabelRecord& row, const LabelPlace& place) {
  LabelVerdict verdict;
  verdict.good_targets = copy_targets(input, rules, row, place.targets);
  if (!verdict.good_targets) return verdict;
  row.finite = has_finite_scores(input, rules.kind);
  if (row.finite) {
    verdict.fits_kind = all_fit_kind(input, rules.kind);
    judge_labels(input, rules, row, place);
    return verdict;
  }
  for (std::int64_t i = 0; i < input.num_labels; ++i) {
    place.probabilities[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return verdict;
}

}  // namespace tally::metrics
