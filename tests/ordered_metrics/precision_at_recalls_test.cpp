// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/precision_at_recalls.hpp>

#include <gtest/gtest.h>

namespace tally::ordered_metrics {
namespace {

using metrics::DetectionRecord;
constexpr std::uint64_t kBit = 1 << 3;
constexpr DetectionRecord kRight{.right = kBit, .wrong = 1}, kWrong{.right = 1, .wrong = kBit},
    kIgnored{.right = 1, .wrong = 1};

TEST(PrecisionPoints, RecallsAreTheDoublesOfNumpy) {
  const auto points = recall_points();
  EXPECT_EQ(points[0], 0);
  EXPECT_EQ(points[29], 0x1.28f5c28f5c28fp-2) << "which 0.29 is not";
  EXPECT_EQ(points[58], 0x1.28f5c28f5c28fp-1);
  EXPECT_EQ(points[100], 1);
}

TEST(PrecisionPoints, AreTheBestPrecisionAtThatRecallOrMore) {
  // Precision 1, 1/2, 2/3, 2/3, 1/2, 3/5 at recall 1/4, 1/4, 2/4, 2/4, 2/4, 3/4.
  const std::vector<DetectionRecord> ranked{kRight, kWrong, kRight, kIgnored, kWrong, kRight};
  const auto found = precision_at_recalls(ranked, kBit, 4);
  EXPECT_DOUBLE_EQ(found[0], 1);
  EXPECT_LT(found[0], 1) << "one of one is rounded down, as with numpy.spacing(1)";
  EXPECT_DOUBLE_EQ(found[25], 1);
  EXPECT_DOUBLE_EQ(found[26], 2.0 / 3);
  EXPECT_DOUBLE_EQ(found[50], 2.0 / 3);
  EXPECT_DOUBLE_EQ(found[51], 3.0 / 5);
  EXPECT_DOUBLE_EQ(found[75], 3.0 / 5);
  EXPECT_EQ(found[76], 0);
  EXPECT_EQ(found[100], 0);
}

TEST(PrecisionPoints, DoNotFallWithLessRecall) {
  // Precision 0, 1/2, 2/3, 3/4.
  const auto found = precision_at_recalls(std::vector{kWrong, kRight, kRight, kRight}, kBit, 3);
  EXPECT_DOUBLE_EQ(found[0], 3.0 / 4);
  EXPECT_DOUBLE_EQ(found[33], 3.0 / 4);
  EXPECT_DOUBLE_EQ(found[100], 3.0 / 4);
}

TEST(PrecisionPoints, AreZeroWhereNothingIsFound) {
  for (const auto& ranked : {std::vector<DetectionRecord>{}, {kWrong, kWrong}, {kIgnored}}) {
    const auto found = precision_at_recalls(ranked, kBit, 2);
    EXPECT_EQ(found, (std::array<double, kNumRecallPoints>{}));
  }
}

}  // namespace
}  // namespace tally::ordered_metrics
