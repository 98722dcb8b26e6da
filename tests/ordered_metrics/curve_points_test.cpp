// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/curve_counts_and_points.hpp>

#include <limits>

#include <gmock/gmock.h>

#include "curves.hpp"

namespace tally::ordered_metrics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void expect_point(const RocPoint& point, double false_positive_rate, double true_positive_rate,
                  float threshold, ThresholdSide side) {
  EXPECT_DOUBLE_EQ(point.false_positive_rate, false_positive_rate);
  EXPECT_DOUBLE_EQ(point.true_positive_rate, true_positive_rate);
  EXPECT_EQ(point.threshold, threshold);
  EXPECT_EQ(point.side, side);
}

TEST(RocPoints, AreTheCornersFromZeroToOne) {
  const auto points = roc_points(slow_counts({0.9F, 0.8F, 0.7F, 0.6F, 0.5F}, {1, 0, 0, 1, 0}));
  ASSERT_EQ(points.size(), 5u);
  expect_point(points[0], 0, 0, kInfinity, ThresholdSide::at_least);
  expect_point(points[1], 0, 0.5, 0.9F, ThresholdSide::at_least);
  expect_point(points[2], 2.0 / 3, 0.5, 0.6F, ThresholdSide::above);
  expect_point(points[3], 2.0 / 3, 1, 0.6F, ThresholdSide::at_least);
  expect_point(points[4], 1, 1, -kInfinity, ThresholdSide::at_least);
}

TEST(RocPoints, LeaveOutWhatLiesOnAStraightLine) {
  // Ties of one positive and one negative, three times: the diagonal.
  const auto points =
      roc_points(slow_counts({0.9F, 0.9F, 0.5F, 0.5F, 0.1F, 0.1F}, {1, 0, 1, 0, 1, 0}));
  ASSERT_EQ(points.size(), 2u);
  expect_point(points[1], 1, 1, 0.1F, ThresholdSide::at_least);
}

TEST(RocPoints, ThereAreNoneOfAnUndefinedCurve) {
  EXPECT_TRUE(roc_points(slow_counts({0.5F}, {1})).empty());
  EXPECT_TRUE(roc_points(slow_counts({0.5F}, {0})).empty());
}

TEST(PrecisionRecallPoints, AreWhereRecallRises) {
  const auto points = precision_recall_points(slow_counts({0.9F, 0.8F, 0.7F, 0.6F}, {0, 1, 0, 1}));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].precision, 0.5);
  EXPECT_EQ(points[0].recall, 0.5);
  EXPECT_EQ(points[0].threshold, 0.8F);
  EXPECT_EQ(points[1].precision, 0.5);
  EXPECT_EQ(points[1].recall, 1);
  EXPECT_EQ(points[1].threshold, 0.6F);
  EXPECT_TRUE(precision_recall_points(slow_counts({0.5F}, {0})).empty());
}

}  // namespace
}  // namespace tally::ordered_metrics
