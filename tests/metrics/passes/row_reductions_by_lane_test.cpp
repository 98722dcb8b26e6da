// SPDX-License-Identifier: Apache-2.0
// The kernels' arithmetic, lane by lane on the CPU, against the CPU's own loops: equal bits.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <vector>

#include <tally/base/checked_cast.hpp>

#include "passes/row_reductions.hpp"
#include "passes/row_reductions_by_lane.hpp"

namespace tally::metrics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

template <class Find>
auto joined(const Find& find) {
  auto result = find(0);
  for (int lane = 1; lane < kLanes; ++lane) result = join(result, find(lane));
  return result;
}

struct Row {
  std::vector<float> scores;
  std::int64_t label = 0;
};

// Coarse scores, so that ties are common; some rows with scores of impossible classes.
Row random_row(std::int64_t num_classes, std::mt19937& random) {
  std::uniform_int_distribution<int> score(-6, 6);
  Row row;
  for (std::int64_t i = 0; i < num_classes; ++i) {
    row.scores.push_back(0.73f * static_cast<float>(score(random)));
  }
  if (num_classes > 3 && random() % 4 == 0) row.scores[random() % 3] = -kInf;
  row.label = static_cast<std::int64_t>(random() % to_size(num_classes));
  return row;
}

struct Found {
  std::int64_t prediction;
  std::int32_t rank, best, worst;
  std::uint64_t loss, confidence, brier, hinge;
  bool operator==(const Found&) const = default;
};

Found as_bits(const MulticlassRecord& row) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  return {row.prediction, row.label_rank,       row.best_rank,   row.worst_rank,
          bits(row.loss), bits(row.confidence), bits(row.brier), bits(row.hinge)};
}

Found on_the_cpu(const Row& row, const ScoreRules& rules) {
  auto scores = row.scores;
  const std::vector<std::int64_t> labels{row.label};
  RowStatistics stats;
  compute_multiclass_statistics(contiguous_view(scores.data(), DType::f32, {1, std::ssize(scores)}),
                                0, labels, rules, stats);
  EXPECT_FALSE(stats.wrong_kind_row || !stats.rows[0].finite);
  return as_bits(stats.rows[0]);
}

// What multiclass_and_token_kernels.cu does.
Found lane_by_lane(const Row& row, const ScoreRules& rules) {
  const Scores<float> scores{row.scores.data(), std::ssize(row.scores), rules.kind};
  const RowMax peak = joined([&](int lane) { return find_row_max(scores, lane); });
  EXPECT_TRUE(peak.is_finite() && peak.fits_kind);
  const float truth = scores[row.label];
  const auto [standing, terms] =
      joined([&](int lane) { return read_row(scores, peak.score, truth, row.label, lane); });
  const double log_total = double{peak.score} + natural_log(terms.sum);
  const double surprise = joined([&](int lane) {
    return sum_negative_log_likelihood(scores, log_total, rules.class_weights, lane);
  });
  MulticlassRecord made;
  made.label = row.label;
  made.prediction = standing.prediction;
  const float runner_up = rules.hinge == HingeOn::nothing ? peak.score : standing.runner_up;
  fill_scored(standing, judge({peak.score, truth, runner_up}, terms, rules.kind, rules.hinge),
              surprise / static_cast<double>(row.scores.size()), rules, made);
  return as_bits(made);
}

TEST(RowLanes, FindWhatTheCpuFindsForAnyNumberOfClasses) {
  std::mt19937 random(11);
  for (std::int64_t classes = 1; classes <= 300; ++classes) {
    const Row row = random_row(classes, random);
    EXPECT_EQ(lane_by_lane(row, {}), on_the_cpu(row, {})) << classes << " classes";
  }
}

TEST(RowLanes, FindWhatTheCpuFindsUnderAllRules) {
  std::mt19937 random(13);
  std::vector<double> weights(100);
  for (double& weight : weights) weight = 0.01 * static_cast<double>(random() % 300);
  for (std::int64_t classes = 1; classes <= 100; ++classes) {
    const Row row = random_row(classes, random);
    for (const HingeOn hinge : {HingeOn::probabilities, HingeOn::scores}) {
      const ScoreRules smooth{.hinge = hinge, .label_smoothing = 0.1};
      EXPECT_EQ(lane_by_lane(row, smooth), on_the_cpu(row, smooth)) << classes << " classes";
      const ScoreRules both{
          .hinge = hinge, .label_smoothing = 0.3, .class_weights = weights.data()};
      EXPECT_EQ(lane_by_lane(row, both), on_the_cpu(row, both)) << classes << " classes";
    }
  }
}

TEST(RowLanes, FindWhatTheCpuFindsOfProbabilities) {
  std::mt19937 random(12);
  for (std::int64_t classes = 1; classes <= 100; ++classes) {
    Row row = random_row(classes, random);
    for (float& score : row.scores) score = std::abs(score) / 8;
    for (float& score : row.scores) score = score > 1 ? 1 : score;
    EXPECT_EQ(lane_by_lane(row, {.kind = OutputKind::probabilities}),
              on_the_cpu(row, {.kind = OutputKind::probabilities}));
    for (float& score : row.scores) score = -score;
    EXPECT_EQ(lane_by_lane(row, {.kind = OutputKind::log_probabilities}),
              on_the_cpu(row, {.kind = OutputKind::log_probabilities}));
  }
}

TEST(RowLanes, SeeWhatCannotBeScored) {
  for (std::size_t place = 0; place < 37; ++place) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInf}) {
      std::vector<float> row(37, -1.0f);
      row[place] = bad;
      const Scores<float> scores{row.data(), 37, OutputKind::logits};
      EXPECT_FALSE(joined([&](int lane) { return find_row_max(scores, lane); }).is_finite())
          << place;
    }
    std::vector<float> row(37, 0.01f);
    row[place] = 1.5f;
    const Scores<float> scores{row.data(), 37, OutputKind::probabilities};
    EXPECT_FALSE(joined([&](int lane) { return find_row_max(scores, lane); }).fits_kind) << place;
  }
  const std::vector<float> impossible(9, -kInf);
  const Scores<float> scores{impossible.data(), 9, OutputKind::logits};
  EXPECT_FALSE(joined([&](int lane) { return find_row_max(scores, lane); }).is_finite());
}

}  // namespace
}  // namespace tally::metrics
