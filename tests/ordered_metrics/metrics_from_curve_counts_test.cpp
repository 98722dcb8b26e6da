// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/metrics_from_curve_counts.hpp>

#include <tally/base/error.hpp>

#include "curves.hpp"
#include "expect_error.hpp"

namespace tally::ordered_metrics {
namespace {

// torchmetrics' own example: five classes, four rows with .75 on classes 0 to 3.
Scores five_classes() {
  Scores all{5, {}, {}};
  const std::size_t labels[]{0, 1, 3, 2};
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t c = 0; c < 5; ++c) {
      all.scores.push_back(c == row ? 0.75F : 0.05F);
      all.targets.push_back(c == labels[row] ? kPositive : kNegative);
    }
  }
  return all;
}

TEST(ReplicateValues, HaveTheGoldenValuesOfFiveClasses) {
  const auto curves = slow_counts(five_classes());
  const std::vector<std::optional<double>> areas{1.0, 1.0, 1.0 / 3, 1.0 / 3, std::nullopt};
  const std::vector<std::optional<double>> precisions{1.0, 1.0, 0.25, 0.25, std::nullopt};
  for (std::size_t c = 0; c < 5; ++c) {
    EXPECT_EQ(auroc(curves[c]), areas[c]) << c;
    EXPECT_EQ(average_precision(curves[c]), precisions[c]) << c;
  }
}

TEST(ReplicateValues, HaveTheGoldenValuesOfBinaryScores) {
  EXPECT_DOUBLE_EQ(*average_precision(slow_counts({0, 0.5F, 0.7F, 0.8F}, {0, 1, 1, 0})), 7.0 / 12);
  EXPECT_EQ(auroc(slow_counts({1, 1, 1, 0.2F}, {1, 1, 0, 0})), 0.75);
}

TEST(ReplicateValues, OfConstantScoresAreThoseOfChance) {
  const auto constant = slow_counts(std::vector<float>(10, 0.5F), {1, 1, 1, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(auroc(constant), 0.5);
  EXPECT_NEAR(*partial_auroc(constant, 0.3), 0.5, 1e-15);
  EXPECT_EQ(average_precision(constant), 0.3);
}

TEST(ReplicateValues, AreUndefinedWithoutPositivesOrNegatives) {
  const auto negatives = slow_counts({0.1F, 0.9F}, {0, 0});
  const auto positives = slow_counts({0.1F, 0.9F}, {1, 1});
  for (const auto& counts : {negatives, positives, CurveCounts{}}) {
    EXPECT_EQ(auroc(counts), std::nullopt);
    EXPECT_EQ(partial_auroc(counts, 0.5), std::nullopt);
    EXPECT_EQ(partial_auroc(counts, 1), std::nullopt);
  }
  EXPECT_EQ(average_precision(negatives), std::nullopt);
  EXPECT_EQ(average_precision(positives), 1.0);
  EXPECT_FALSE(precision_at_recall(negatives, 0.5));
  EXPECT_FALSE(recall_at_precision(negatives, 0.5));
}

TEST(ReplicateValues, CountsBeyondTheRangeOfDoubleAreDividedOnce) {
  // 2^40 positives and negatives: all pairs won but one tie, which doubles cannot tell apart.
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  const CurveCounts counts{{0.9F, 0.1F}, {kMany - 1, 1}, {0, 1}, {0, 0}, kMany, kMany};
  EXPECT_EQ(auroc(counts), 1.0);
  const CurveCounts tied{{0.5F}, {kMany}, {kMany}, {0}, kMany, kMany};
  EXPECT_EQ(auroc(tied), 0.5);
  EXPECT_EQ(average_precision(tied), 0.5);
  EXPECT_NEAR(*partial_auroc(tied, 0.25), 0.5, 1e-15);
}

TEST(PartialAuroc, IsTheWholeAtOneAndRefusesWhatIsNoRate) {
  const auto counts = slow_counts({0.2F, 0.4F, 0.6F, 0.8F}, {0, 1, 0, 1});
  EXPECT_EQ(partial_auroc(counts, 1), auroc(counts));
  for (const double rate : {0.0, -0.1, 1.5, std::nan("")}) {
    expect_error(ErrorKind::usage, {"false positive rate"}, [&] { partial_auroc(counts, rate); });
  }
}

TEST(PartialAuroc, InterpolatesInsideASegment) {
  // (0, 0), (1/2, 1/2) on a tie, (1, 1): up to 1/4 the line of chance.
  const auto counts = slow_counts({0.9F, 0.9F, 0.1F, 0.1F}, {0, 1, 0, 1});
  EXPECT_DOUBLE_EQ(*partial_auroc(counts, 0.25), 0.5);
  // All positives first: the rectangle.
  EXPECT_DOUBLE_EQ(*partial_auroc(slow_counts({0.9F, 0.1F, 0.2F}, {1, 0, 0}), 0.25), 1.0);
  // All positives last: nothing, below chance. (0 - 1/32) / (1/4 - 1/32) = -1/7.
  EXPECT_DOUBLE_EQ(*partial_auroc(slow_counts({0.1F, 0.8F, 0.9F}, {1, 0, 0}), 0.25), 3.0 / 7);
}

TEST(OperatingPoints, AreTheBestUnderTheirCondition) {
  // precision 1, 1/2, 2/3, 3/4 and recall 1/3, 1/3, 2/3, 1 from the largest score down
  const auto counts = slow_counts({0.9F, 0.8F, 0.7F, 0.6F}, {1, 0, 1, 1});
  const auto expect = [](const std::optional<OperatingPoint>& found, double value, float at) {
    ASSERT_TRUE(found);
    EXPECT_DOUBLE_EQ(found->value, value);
    EXPECT_EQ(found->threshold, at);
  };
  expect(precision_at_recall(counts, 0.0), 1.0, 0.9F);
  expect(precision_at_recall(counts, 1.0 / 3), 1.0, 0.9F);
  expect(precision_at_recall(counts, 0.4), 0.75, 0.6F);
  expect(recall_at_precision(counts, 0.7), 1.0, 0.6F);
  expect(recall_at_precision(counts, 0.8), 1.0 / 3, 0.9F);
}

TEST(OperatingPoints, OfEqualPrecisionsTakeTheLargerRecall) {
  const auto counts = slow_counts({0.9F, 0.8F, 0.7F, 0.6F}, {1, 1, 0, 0});
  const auto found = precision_at_recall(counts, 0.1);
  EXPECT_EQ(found->value, 1.0);
  EXPECT_EQ(found->threshold, 0.8F);
}

TEST(OperatingPoints, WithoutThresholdWhereNothingMeetsTheCondition) {
  const auto counts = slow_counts({0.9F, 0.1F}, {0, 1});
  const auto found = recall_at_precision(counts, 0.9);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value, 0);
  EXPECT_EQ(found->threshold, std::nullopt);
}

}  // namespace
}  // namespace tally::ordered_metrics
