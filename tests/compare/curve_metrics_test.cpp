// SPDX-License-Identifier: Apache-2.0
// Figures of one run that are made of all its scores in order, by hand, weighted and not.
#include "resampled_curve_metrics.hpp"

#include <gmock/gmock.h>

#include "expect_error.hpp"

namespace tally::compare {
namespace {

using metrics::Definitions;
using ordered_metrics::CurveRules;
using ordered_metrics::ScoreKeys;
using ordered_metrics::Targets;
using testing::ElementsAre;
using Values = std::vector<std::optional<double>>;
using Weights = std::vector<std::uint8_t>;

// [rows, labels] each; they outlive what reads them.
ordered_metrics::ScoreRows rows_of(std::int64_t labels, const std::vector<float>& scores,
                                   const std::vector<std::uint8_t>& targets) {
  return {.num_rows = std::ssize(scores) / labels,
          .num_classes = labels,
          .first_index = 40,
          .read = [=, &scores, &targets](std::int64_t first, std::int64_t count,
                                         std::span<float> to_scores,
                                         std::span<std::uint8_t> to_targets) {
            std::copy_n(scores.begin() + first * labels, count * labels, to_scores.begin());
            std::copy_n(targets.begin() + first * labels, count * labels, to_targets.begin());
          }};
}

std::unique_ptr<CurveMetrics> of_labels(const std::vector<std::string>& names, std::int64_t labels,
                                        const std::vector<float>& scores,
                                        const std::vector<std::uint8_t>& targets,
                                        ScoreKeys keys = ScoreKeys::float32) {
  return make_curve_metrics(names, rows_of(labels, scores, targets), keys,
                            CurveRules{Targets::labels, Definitions::torchmetrics});
}

TEST(CurveMetrics, AreOnlyThoseThatAreMadeOfCurves) {
  EXPECT_EQ(of_labels({"accuracy", "f1"}, 1, {0.5F}, {1}), nullptr);
  const auto found = of_labels({"average_precision", "accuracy", "auroc"}, 1, {0.5F, 0}, {1, 0});
  EXPECT_THAT(found->names(), ElementsAre("average_precision", "auroc"));
  EXPECT_EQ(found->values({}), (Values{1, 1}));
}

// From the best score on: right, wrong, right. Precision is 1 at the first recall of 1/2, 2/3 at 1.
TEST(CurveMetrics, OfOneLabelByHand) {
  const auto found = of_labels({"auroc", "average_precision"}, 1, {0.25F, 0.75F, 0.5F}, {1, 1, 0});
  const Values values = found->values({});
  EXPECT_EQ(values[0], 0.5);
  EXPECT_DOUBLE_EQ(values[1].value(), (1 + 2.0 / 3) / 2);
}

// Positives of 0.25 once and of 0.75 three times, a negative of 0.5 twice.
TEST(CurveMetrics, WeightsAreRepeatedSamples) {
  const auto found = of_labels({"auroc", "average_precision"}, 1, {0.25F, 0.75F, 0.5F}, {1, 1, 0});
  const Weights weights{1, 3, 2};
  const Values values = found->values(weights);
  EXPECT_EQ(values[0], 0.75);  // 3 of 4 positives are above both negatives
  EXPECT_DOUBLE_EQ(values[1].value(), 0.75 * 1 + 0.25 * 4.0 / 6);
  EXPECT_EQ(found->values(Weights{1, 1, 1}), found->values({})) << "nothing is left of before";
  EXPECT_EQ(found->values(Weights{0, 1, 1}), (Values{1, 1}));
}

TEST(CurveMetrics, OfReplicatesThatLostAClassAreUndefined) {
  const auto found = of_labels({"auroc"}, 1, {0.25F, 0.75F, 0.5F}, {1, 1, 0});
  EXPECT_EQ(found->values(Weights{0, 0, 5}), Values{std::nullopt});
  EXPECT_EQ(found->values(Weights{2, 1, 0}), Values{std::nullopt});
  EXPECT_EQ(found->values(Weights{0, 0, 0}), Values{std::nullopt});
}

// The first label is in order, the second is not; they are set twice and once.
TEST(CurveMetrics, OfSeveralLabelsAreAverages) {
  const auto found = of_labels({"auroc_macro", "auroc_weighted"}, 2,
                               {0.75F, 0.25F, 0.5F, 0.5F, 0.25F, 0.75F}, {1, 1, 1, 0, 0, 0});
  EXPECT_THAT(found->values({}), ElementsAre(0.5, 2.0 / 3));
  // Without the first sample the second label is never set: it has no figure, and no weight.
  EXPECT_THAT(found->values(Weights{0, 1, 1}), ElementsAre(std::nullopt, 1));
}

TEST(CurveMetrics, WhatDoesNotCountIsNowhere) {
  constexpr std::uint8_t kNotCounted = ordered_metrics::kNotCounted;
  const auto found = of_labels({"auroc"}, 1, {0.25F, 0.75F, 0.5F, 0.125F}, {1, kNotCounted, 0, 0});
  EXPECT_EQ(found->values({}), Values{0.5});
  EXPECT_EQ(found->values(Weights{1, 9, 1, 1}), Values{0.5});
}

TEST(CurveMetrics, OfBfloat16ScoresAreRoundedFirst) {
  for (const auto& [keys, value] :
       {std::pair{ScoreKeys::float32, 1.0}, std::pair{ScoreKeys::bfloat16, 0.5}}) {
    EXPECT_EQ(of_labels({"auroc"}, 1, {0.501F, 0.5F}, {1, 0}, keys)->values({}), Values{value});
  }
}

TEST(CurveMetrics, ScoresThatAreNotFiniteAreNamedByTheirSample) {
  expect_error(ErrorKind::numeric, {"the score of sample 41 for class 0 is nan"}, [] {
    of_labels({"auroc"}, 1, {0.5F, std::nanf("")}, {1, 0});
  });
}

TEST(CurveMetrics, WantOneWeightASample) {
  const auto found = of_labels({"auroc"}, 1, {0.25F, 0.75F, 0.5F}, {1, 1, 0});
  expect_error(ErrorKind::internal, {"one weight a row"}, [&] { found->values(Weights{1, 1}); });
}

class SpearmanTest : public testing::Test {
 protected:
  static std::unique_ptr<CurveMetrics> of(const std::vector<std::string>& names,
                                          const std::vector<float>& predictions,
                                          const std::vector<float>& targets) {
    return make_spearman(
        names, {.num_rows = std::ssize(targets),
                .num_outputs = 1,
                .read = [&](std::int64_t first, std::int64_t count, std::span<float> to_predictions,
                            std::span<float> to_targets) {
                  std::copy_n(predictions.begin() + first, count, to_predictions.begin());
                  std::copy_n(targets.begin() + first, count, to_targets.begin());
                }});
  }
};

TEST_F(SpearmanTest, IsMadeWhereItIsAskedFor) {
  EXPECT_EQ(of({"mse", "pearson"}, {1, 2}, {1, 2}), nullptr);
  const auto found = of({"mse", "spearman"}, {10, 20, 15}, {1, 2, 3});
  EXPECT_THAT(found->names(), ElementsAre("spearman"));
  EXPECT_EQ(found->values({}), Values{0.5});  // 1 - 6 (0 + 1 + 1) / (3 (9 - 1))
}

TEST_F(SpearmanTest, HasNoValueWithoutVariance) {
  const auto found = of({"spearman"}, {1, 2, 3}, {3, 2, 1});
  EXPECT_EQ(found->values({}), Values{-1});
  EXPECT_EQ(found->values(Weights{1, 0, 3}), Values{-1});
  EXPECT_EQ(found->values(Weights{0, 4, 0}), Values{std::nullopt});
  EXPECT_EQ(found->values(Weights{0, 0, 0}), Values{std::nullopt});
}

}  // namespace
}  // namespace tally::compare
