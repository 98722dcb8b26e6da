// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/multiclass_statistics.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <tally/base/error.hpp>

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The rows' statistics, one list each.
struct Found {
  explicit Found(const RowStatistics& stats) : wrong_kind_row(stats.wrong_kind_row) {
    for (const MulticlassRecord& row : stats.rows) {
      prediction.push_back(row.prediction);
      label_rank.push_back(row.label_rank);
      tied.push_back(row.is_tied());
      finite.push_back(row.finite);
      loss.push_back(static_cast<float>(row.loss));
      confidence.push_back(static_cast<float>(row.confidence));
      brier.push_back(row.brier);
      hinge.push_back(row.hinge);
    }
  }
  std::vector<std::int64_t> prediction;
  std::vector<std::int32_t> label_rank;
  std::vector<bool> tied, finite;
  std::vector<float> loss, confidence;
  std::vector<double> brier, hinge;
  std::optional<std::int64_t> wrong_kind_row;
};

Found examine_with(const ScoreRules& rules, std::vector<float> scores,
                   std::vector<std::int64_t> labels) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  const auto classes = static_cast<std::int64_t>(scores.size()) / rows;
  RowStatistics stats;
  compute_multiclass_statistics(contiguous_view(scores.data(), DType::f32, {rows, classes}), 0,
                                labels, rules, stats);
  return Found(stats);
}

Found examine(std::vector<float> scores, std::vector<std::int64_t> labels,
              OutputKind kind = OutputKind::logits,
              std::optional<std::int64_t> ignore_index = std::nullopt) {
  const ScoreRules rules{.kind = kind,
                         .has_ignore_index = ignore_index.has_value(),
                         .ignore_index = ignore_index.value_or(0)};
  return examine_with(rules, std::move(scores), std::move(labels));
}

TEST(ExamineRows, TheSmallestIndexWinsTies) {
  const Found stats = examine({1, 3, 3, 2, 3}, {2});

  EXPECT_THAT(stats.prediction, ElementsAre(1));
  EXPECT_THAT(stats.label_rank, ElementsAre(1)) << "behind class 1, ahead of class 4";
  EXPECT_THAT(stats.tied, ElementsAre(true));
}

TEST(ExamineRows, ATieElsewhereIsNoTieOfTheLabel) {
  const Found stats = examine({3, 3, 2, 1}, {2});

  EXPECT_THAT(stats.label_rank, ElementsAre(2));
  EXPECT_THAT(stats.tied, ElementsAre(false));
}

TEST(ExamineRows, RankZeroIsARightPrediction) {
  const Found stats = examine({0, 5, 5, 1, 0, 5, 5, 1}, {1, 2});

  EXPECT_THAT(stats.label_rank, ElementsAre(0, 1));
  EXPECT_THAT(stats.prediction, ElementsAre(1, 1));
}

TEST(ExamineRows, LossOfLogitsIsLogSumExp) {
  const Found stats = examine({1.0f, 2.0f, 3.0f}, {0});

  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  EXPECT_THAT(stats.loss, ElementsAre(FloatEq(static_cast<float>(std::log(sum) - 1.0))));
  EXPECT_THAT(stats.confidence, ElementsAre(FloatEq(static_cast<float>(std::exp(3.0) / sum))));
}

TEST(ExamineRows, HugeLogitsDoNotOverflow) {
  const Found stats = examine({1e30f, 0.0f, -3e38f, 3e38f}, {0, 0});

  EXPECT_THAT(stats.loss, ElementsAre(0.0f, std::numeric_limits<float>::max()));
  EXPECT_THAT(stats.confidence, ElementsAre(1.0f, 1.0f));
}

TEST(ExamineRows, LogProbabilitiesAndProbabilitiesAreTakenAsTheyAre) {
  const float log_half = std::log(0.5f);
  const Found logs =
      examine({log_half, std::log(0.25f), std::log(0.25f)}, {1}, OutputKind::log_probabilities);
  const Found plain = examine({0.5f, 0.25f, 0.25f}, {1}, OutputKind::probabilities);

  for (const Found& stats : {logs, plain}) {
    EXPECT_THAT(stats.loss, ElementsAre(FloatEq(std::log(4.0f))));
    EXPECT_THAT(stats.confidence, ElementsAre(FloatEq(0.5f)));
    EXPECT_THAT(stats.prediction, ElementsAre(0));
    EXPECT_THAT(stats.tied, ElementsAre(true));
  }
}

TEST(ExamineRows, AnImpossibleTrueClassCostsABoundedLoss) {
  const auto bound = static_cast<float>(kZeroProbabilityLoss);
  EXPECT_FLOAT_EQ(bound, -std::log(std::numeric_limits<float>::denorm_min()));

  EXPECT_THAT(examine({1, -kInf}, {1}).loss, ElementsAre(bound));
  EXPECT_THAT(examine({0, -kInf}, {1}, OutputKind::log_probabilities).loss, ElementsAre(bound));
  EXPECT_THAT(examine({1, 0}, {1}, OutputKind::probabilities).loss, ElementsAre(bound));
}

TEST(ExamineRows, MaskedClassesAreNoError) {
  const Found stats = examine({-kInf, 1, 1, -kInf}, {1});

  EXPECT_THAT(stats.finite, ElementsAre(true));
  EXPECT_THAT(stats.loss, ElementsAre(FloatEq(std::log(2.0f))));
  EXPECT_THAT(stats.confidence, ElementsAre(FloatEq(0.5f)));
}

TEST(ExamineRows, MarksEveryRowWithNanOrInf) {
  for (const OutputKind kind :
       {OutputKind::logits, OutputKind::log_probabilities, OutputKind::probabilities}) {
    EXPECT_THAT(examine({0, 0, kNaN, 0, 0, kNaN}, {0, 0, 0}, kind).finite,
                ElementsAre(true, false, false));
    EXPECT_THAT(examine({0, 0, 0, 0, 0, kInf}, {0, 0, 0}, kind).finite,
                ElementsAre(true, true, false));
    EXPECT_THAT(examine({-kInf, -kInf}, {0}, kind).finite, ElementsAre(false))
        << "no class is possible";
  }
  EXPECT_THAT(examine({0, -kInf}, {0}, OutputKind::probabilities).finite, ElementsAre(false));
}

TEST(ExamineRows, ARowThatIsNotFiniteHasNoFacts) {
  const Found stats = examine({kNaN, 5, 1, 0}, {1, 0});

  EXPECT_THAT(stats.prediction, ElementsAre(-1, 0));
  EXPECT_THAT(stats.label_rank, ElementsAre(-1, 0));
  EXPECT_TRUE(std::isnan(stats.loss[0]) && std::isnan(stats.confidence[0]));
  EXPECT_TRUE(std::isnan(stats.brier[0]));
  EXPECT_FALSE(stats.tied[0]);
}

TEST(ExamineRows, BrierIsTheSquaredDistanceFromTheTruth) {
  EXPECT_NEAR(examine({0.5f, 0.25f, 0.25f}, {1}, OutputKind::probabilities).brier[0],
              0.25 + 0.5625 + 0.0625, 1e-15);
  const double p = std::exp(1.0) / (1 + std::exp(1.0));
  EXPECT_NEAR(examine({1, 0}, {0}).brier[0], 2 * (1 - p) * (1 - p), 1e-15);
  EXPECT_EQ(examine({1000, 0, 0}, {0}).brier[0], 0.0);
  EXPECT_EQ(examine({1000, 0, 0}, {1}).brier[0], 2.0);
}

TEST(ExamineRows, HingeIsOfTheMarginOverTheBestOtherClass) {
  const std::vector<float> scores{0.5f, 0.2f, 0.3f, 0.5f, 0.2f, 0.3f};
  ScoreRules rules{.kind = OutputKind::probabilities};
  EXPECT_TRUE(std::isnan(examine_with(rules, scores, {0, 2}).hinge[0])) << "not asked for";

  rules.hinge = HingeOn::probabilities;
  const Found on_probabilities = examine_with(rules, scores, {0, 2});
  EXPECT_NEAR(on_probabilities.hinge[0], 0.8, 1e-7);
  EXPECT_NEAR(on_probabilities.hinge[1], 1.2, 1e-7);

  const ScoreRules raw{.hinge = HingeOn::scores};
  const Found on_scores = examine_with(raw, {4, 1, 2, 4, 3.5f, 2}, {0, 1});
  EXPECT_EQ(on_scores.hinge[0], 0.0);
  EXPECT_EQ(on_scores.hinge[1], 1.5);
}

TEST(ExamineRows, AnIgnoredRowIsCheckedButNotScored) {
  EXPECT_THAT(examine({0, kNaN}, {-7}, OutputKind::logits, -7).finite, ElementsAre(false));
  const Found stats = examine({0, 0, 0, 1}, {-7, 1}, OutputKind::logits, -7);

  EXPECT_THAT(stats.prediction, ElementsAre(0, 1));
  EXPECT_THAT(stats.label_rank, ElementsAre(-1, 0));
  EXPECT_THAT(stats.tied, ElementsAre(false, false));
  EXPECT_TRUE(std::isnan(stats.loss[0]));
  EXPECT_FLOAT_EQ(stats.confidence[0], 0.5f);
}

TEST(ExamineRows, NamesTheFirstRowOfAnotherKind) {
  EXPECT_EQ(examine({0.5f, 0.5f, 1.5f, -0.5f}, {0, 0}, OutputKind::probabilities).wrong_kind_row,
            1);
  EXPECT_EQ(examine({0.5f, -0.5f}, {0}, OutputKind::probabilities).wrong_kind_row, 0);
  EXPECT_EQ(examine({-1, -2, 3, -4}, {0, 0}, OutputKind::log_probabilities).wrong_kind_row, 1);
  EXPECT_EQ(examine({-1, -2, 3, -4}, {0, 0}, OutputKind::logits).wrong_kind_row, std::nullopt);
  EXPECT_EQ(examine({1.001f, -0.001f}, {1}, OutputKind::probabilities).wrong_kind_row, std::nullopt)
      << "rounding of half precision";
}

TEST(ExamineRows, PaddingAndStridesAreLeftAlone) {
  // Three rows of two classes, four floats apart; the third row is padding.
  std::vector<float> memory{1, 2, kNaN, kNaN, 4, 3, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
  TensorView scores = contiguous_view(memory.data(), DType::f32, {3, 2});
  scores.strides = {4, 1};
  const std::vector<std::int64_t> labels{1, 1};
  RowStatistics stats;

  compute_multiclass_statistics(scores, 0, labels, {}, stats);

  const Found found(stats);
  EXPECT_THAT(found.finite, ElementsAre(true, true));
  EXPECT_THAT(found.prediction, ElementsAre(1, 0));
  EXPECT_THAT(found.label_rank, ElementsAre(0, 1));
}

TEST(ExamineRows, StatisticsOfTheLastBatchAreGone) {
  std::vector<float> scores{2, 3};
  const std::vector<std::int64_t> labels{1};
  RowStatistics stats;
  const auto view = contiguous_view(scores.data(), DType::f32, {1, 2});
  compute_multiclass_statistics(view, 0, labels, {.kind = OutputKind::probabilities}, stats);
  ASSERT_EQ(stats.wrong_kind_row, 0);

  compute_multiclass_statistics(view, 7, labels, {}, stats);

  EXPECT_EQ(stats.wrong_kind_row, std::nullopt);
  ASSERT_EQ(stats.rows.size(), 1u);
  EXPECT_EQ(stats.rows[0].index, 7u);
  EXPECT_EQ(stats.rows[0].label_rank, 0);
}

TEST(ExamineRows, RefusesScoresOfAnotherForm) {
  std::vector<double> scores(6);
  const std::vector<std::int64_t> labels{0, 1};
  RowStatistics stats;
  for (const TensorView& view : {contiguous_view(scores.data(), DType::f64, {2, 3}),
                                 contiguous_view(scores.data(), DType::f32, {1, 3}),
                                 contiguous_view(scores.data(), DType::f32, {2, 3, 1}),
                                 contiguous_view(scores.data(), DType::f32, {2, 0})}) {
    EXPECT_THROW(compute_multiclass_statistics(view, 0, labels, {}, stats), Error);
  }
  EXPECT_THROW(examine({1, 2}, {2}), Error);
  EXPECT_THROW(examine({1, 2}, {-1}), Error);
}

TEST(ClassProbabilities, AddUpToOneOrAreTheRow) {
  const std::vector<float> row{-1, 2, -kInf, 0.5f};
  std::vector<float> probabilities(row.size());

  class_probabilities(row, OutputKind::logits, probabilities);
  EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1.0, 1e-6);
  EXPECT_EQ(probabilities[2], 0.0f);
  EXPECT_FLOAT_EQ(probabilities[1], examine({-1, 2, -kInf, 0.5f}, {0}).confidence[0]);

  class_probabilities(std::vector<float>{std::log(0.25f), -kInf, 0, 0},
                      OutputKind::log_probabilities, probabilities);
  EXPECT_FLOAT_EQ(probabilities[0], 0.25f);
  EXPECT_EQ(probabilities[1], 0.0f);
  EXPECT_EQ(probabilities[2], 1.0f);

  const std::vector<float> plain{0.1f, 0.2f, 0.3f, 0.4f};
  class_probabilities(plain, OutputKind::probabilities, probabilities);
  EXPECT_EQ(probabilities, plain);
}

TEST(OutputKinds, HaveTheNamesOfTheCommandLine) {
  for (const OutputKind kind :
       {OutputKind::logits, OutputKind::log_probabilities, OutputKind::probabilities}) {
    EXPECT_EQ(output_kind_from_name(name(kind)), kind);
  }
  EXPECT_EQ(name(OutputKind::log_probabilities), "log-probabilities");
  EXPECT_THROW(output_kind_from_name("scores"), Error);
}

}  // namespace
}  // namespace tally::metrics
