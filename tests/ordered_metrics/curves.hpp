// SPDX-License-Identifier: Apache-2.0
// Scores of a whole set, and the slow count of them as oracle.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/score_rows.hpp>

namespace tally::ordered_metrics {

struct Scores {
  std::size_t num_classes = 0;
  std::vector<float> scores;          // [rows, classes]
  std::vector<std::uint8_t> targets;  // [rows, classes]

  std::int64_t num_rows() const { return static_cast<std::int64_t>(scores.size() / num_classes); }
  // Rows first .. first + count - 1 as one rank's part.
  ScoreRows slice(std::int64_t first, std::int64_t count) const {
    ScoreRows rows;
    rows.num_rows = count;
    rows.num_classes = static_cast<std::int64_t>(num_classes);
    rows.first_index = first;
    rows.read = [this, first](std::int64_t begin, std::int64_t num, std::span<float> out_scores,
                              std::span<std::uint8_t> out_targets) {
      const auto from = static_cast<std::int64_t>(num_classes) * (first + begin);
      const auto size = static_cast<std::int64_t>(num_classes) * num;
      std::copy_n(scores.begin() + from, size, out_scores.begin());
      std::copy_n(targets.begin() + from, size, out_targets.begin());
    };
    return rows;
  }
};

// `levels` distinct scores in [0, 1], the ends among them; 0: any float.
inline Scores random_scores(std::uint64_t seed, std::int64_t num_rows, std::size_t num_classes,
                            int levels, double positive_share = 0.3, double ignored_share = 0.1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Scores all{num_classes, {}, {}};
  for (std::int64_t i = 0; i < num_rows * static_cast<std::int64_t>(num_classes); ++i) {
    const double draw = uniform(random);
    all.scores.push_back(static_cast<float>(
        levels == 0 ? draw : std::floor(draw * levels) / std::max(1, levels - 1)));
    const double target = uniform(random);
    all.targets.push_back(target < ignored_share                    ? kNotCounted
                          : target < ignored_share + positive_share ? kPositive
                                                                    : kNegative);
  }
  return all;
}

// By definition, element by element.
inline std::vector<CurveCounts> slow_counts(const Scores& all) {
  std::vector<CurveCounts> curves(all.num_classes);
  for (std::size_t c = 0; c < all.num_classes; ++c) {
    CurveCounts& curve = curves[c];
    std::set<float, std::greater<>> thresholds;
    for (std::size_t i = c; i < all.scores.size(); i += all.num_classes) {
      if (all.targets[i] == kPositive) thresholds.insert(all.scores[i]);
    }
    curve.thresholds.assign(thresholds.begin(), thresholds.end());
    for (std::size_t t = 0; t < curve.thresholds.size(); ++t) {
      std::int64_t positives_at = 0;
      std::int64_t negatives_at = 0;
      std::int64_t negatives_above = 0;
      for (std::size_t i = c; i < all.scores.size(); i += all.num_classes) {
        const bool here = all.scores[i] == curve.thresholds[t];
        const bool above = all.scores[i] > curve.thresholds[t] &&
                           (t == 0 || all.scores[i] < curve.thresholds[t - 1]);
        positives_at += all.targets[i] == kPositive && here ? 1 : 0;
        negatives_at += all.targets[i] == kNegative && here ? 1 : 0;
        negatives_above += all.targets[i] == kNegative && above ? 1 : 0;
      }
      curve.positives_at.push_back(positives_at);
      curve.negatives_at.push_back(negatives_at);
      curve.negatives_above.push_back(negatives_above);
    }
    for (std::size_t i = c; i < all.scores.size(); i += all.num_classes) {
      curve.positives += all.targets[i] == kPositive ? 1 : 0;
      curve.negatives += all.targets[i] == kNegative ? 1 : 0;
    }
  }
  return curves;
}

// One class's scores and targets.
inline CurveCounts slow_counts(std::vector<float> scores, std::vector<std::uint8_t> targets) {
  return slow_counts(Scores{1, std::move(scores), std::move(targets)}).front();
}

}  // namespace tally::ordered_metrics
