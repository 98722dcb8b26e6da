#include <tally/metrics/row_facts.hpp>

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

RowFacts examine(std::vector<float> scores, std::vector<std::int64_t> labels,
                 OutputKind kind = OutputKind::logits,
                 std::optional<std::int64_t> ignore_index = std::nullopt) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  const auto classes = static_cast<std::int64_t>(scores.size()) / rows;
  RowFacts facts;
  examine_rows(contiguous_view(scores.data(), DType::f32, {rows, classes}), labels, ignore_index,
               kind, facts);
  return facts;
}

TEST(ExamineRows, TheSmallestIndexWinsTies) {
  const RowFacts facts = examine({1, 3, 3, 2, 3}, {2});

  EXPECT_THAT(facts.prediction, ElementsAre(1));
  EXPECT_THAT(facts.label_rank, ElementsAre(1)) << "behind class 1, ahead of class 4";
  EXPECT_THAT(facts.label_tied, ElementsAre(1));
}

TEST(ExamineRows, ATieElsewhereIsNoTieOfTheLabel) {
  const RowFacts facts = examine({3, 3, 2, 1}, {2});

  EXPECT_THAT(facts.label_rank, ElementsAre(2));
  EXPECT_THAT(facts.label_tied, ElementsAre(0));
}

TEST(ExamineRows, RankZeroIsARightPrediction) {
  const RowFacts facts = examine({0, 5, 5, 1, 0, 5, 5, 1}, {1, 2});

  EXPECT_THAT(facts.label_rank, ElementsAre(0, 1));
  EXPECT_THAT(facts.prediction, ElementsAre(1, 1));
}

TEST(ExamineRows, LossOfLogitsIsLogSumExp) {
  const RowFacts facts = examine({1.0f, 2.0f, 3.0f}, {0});

  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  EXPECT_THAT(facts.loss, ElementsAre(FloatEq(static_cast<float>(std::log(sum) - 1.0))));
  EXPECT_THAT(facts.confidence, ElementsAre(FloatEq(static_cast<float>(std::exp(3.0) / sum))));
}

TEST(ExamineRows, HugeLogitsDoNotOverflow) {
  const RowFacts facts = examine({1e30f, 0.0f, -3e38f, 3e38f}, {0, 0});

  EXPECT_THAT(facts.loss, ElementsAre(0.0f, std::numeric_limits<float>::max()));
  EXPECT_THAT(facts.confidence, ElementsAre(1.0f, 1.0f));
}

TEST(ExamineRows, LogProbabilitiesAndProbabilitiesAreTakenAsTheyAre) {
  const float log_half = std::log(0.5f);
  const RowFacts logs =
      examine({log_half, std::log(0.25f), std::log(0.25f)}, {1}, OutputKind::log_probabilities);
  const RowFacts plain = examine({0.5f, 0.25f, 0.25f}, {1}, OutputKind::probabilities);

  for (const RowFacts& facts : {logs, plain}) {
    EXPECT_THAT(facts.loss, ElementsAre(FloatEq(std::log(4.0f))));
    EXPECT_THAT(facts.confidence, ElementsAre(FloatEq(0.5f)));
    EXPECT_THAT(facts.prediction, ElementsAre(0));
    EXPECT_THAT(facts.label_tied, ElementsAre(1));
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
  const RowFacts facts = examine({-kInf, 1, 1, -kInf}, {1});

  EXPECT_EQ(facts.non_finite_row, std::nullopt);
  EXPECT_THAT(facts.loss, ElementsAre(FloatEq(std::log(2.0f))));
  EXPECT_THAT(facts.confidence, ElementsAre(FloatEq(0.5f)));
}

TEST(ExamineRows, NamesTheFirstRowWithNanOrInf) {
  for (const OutputKind kind :
       {OutputKind::logits, OutputKind::log_probabilities, OutputKind::probabilities}) {
    EXPECT_EQ(examine({0, 0, kNaN, 0, 0, kNaN}, {0, 0, 0}, kind).non_finite_row, 1);
    EXPECT_EQ(examine({0, 0, 0, 0, 0, kInf}, {0, 0, 0}, kind).non_finite_row, 2);
    EXPECT_EQ(examine({-kInf, -kInf}, {0}, kind).non_finite_row, 0) << "no class is possible";
  }
  EXPECT_EQ(examine({0, -kInf}, {0}, OutputKind::probabilities).non_finite_row, 0);
}

TEST(ExamineRows, AnIgnoredRowIsCheckedButNotScored) {
  EXPECT_EQ(examine({0, kNaN}, {-7}, OutputKind::logits, -7).non_finite_row, 0);
  const RowFacts facts = examine({0, 0, 0, 1}, {-7, 1}, OutputKind::logits, -7);

  EXPECT_THAT(facts.prediction, ElementsAre(0, 1));
  EXPECT_THAT(facts.label_rank, ElementsAre(-1, 0));
  EXPECT_THAT(facts.label_tied, ElementsAre(0, 0));
  EXPECT_TRUE(std::isnan(facts.loss[0]));
  EXPECT_FLOAT_EQ(facts.confidence[0], 0.5f);
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
  RowFacts facts;

  examine_rows(scores, labels, std::nullopt, OutputKind::logits, facts);

  EXPECT_EQ(facts.non_finite_row, std::nullopt);
  EXPECT_THAT(facts.prediction, ElementsAre(1, 0));
  EXPECT_THAT(facts.label_rank, ElementsAre(0, 1));
}

TEST(ExamineRows, FactsOfTheLastBatchAreGone) {
  RowFacts facts = examine({0, kNaN}, {0});
  std::vector<float> scores{1, 2};
  const std::vector<std::int64_t> labels{1};
  examine_rows(contiguous_view(scores.data(), DType::f32, {1, 2}), labels, std::nullopt,
               OutputKind::logits, facts);
  EXPECT_EQ(facts.non_finite_row, std::nullopt);
  EXPECT_THAT(facts.label_rank, ElementsAre(0));
}

TEST(ExamineRows, RefusesScoresOfAnotherForm) {
  std::vector<double> scores(6);
  const std::vector<std::int64_t> labels{0, 1};
  RowFacts facts;
  for (const TensorView& view : {contiguous_view(scores.data(), DType::f64, {2, 3}),
                                 contiguous_view(scores.data(), DType::f32, {1, 3}),
                                 contiguous_view(scores.data(), DType::f32, {2, 3, 1}),
                                 contiguous_view(scores.data(), DType::f32, {2, 0})}) {
    EXPECT_THROW(examine_rows(view, labels, std::nullopt, OutputKind::logits, facts), Error);
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
