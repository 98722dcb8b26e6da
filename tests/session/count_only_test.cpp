// SPDX-License-Identifier: Apache-2.0
// Rows of one subgroup: those of the others are read, but do not count.
#include <tally/session/local_result.hpp>

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include <tally/ordered_metrics/score_rows.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::app {
namespace {

using ordered_metrics::kNegative;
using ordered_metrics::kNotCounted;
using ordered_metrics::kPositive;
using testing::ElementsAre;

// Subgroups of five samples.
const std::vector<std::int32_t> kCodes{7, -3, 7, 0, -3};

// Two classes; sample i has the scores 2i and 2i + 1 and is one of class i mod 2.
ordered_metrics::ScoreRows scores_of_five() {
  ordered_metrics::ScoreRows rows;
  rows.num_rows = 5;
  rows.num_classes = 2;
  rows.read = [](std::int64_t first, std::int64_t count, std::span<float> scores,
                 std::span<std::uint8_t> targets) {
    for (std::size_t i = 0; i < to_size(2 * count); ++i) {
      const auto element = 2 * to_size(first) + i;
      scores[i] = static_cast<float>(element);
      targets[i] = (element / 2) % 2 == element % 2 ? kPositive : kNegative;
    }
  };
  return rows;
}

struct Window {
  std::vector<float> scores;
  std::vector<std::uint8_t> targets;
};
Window read(const ordered_metrics::ScoreRows& rows, std::int64_t first, std::int64_t count) {
  Window window{std::vector<float>(to_size(2 * count)),
                std::vector<std::uint8_t>(to_size(2 * count))};
  rows.read(first, count, window.scores, window.targets);
  return window;
}

TEST(CountOnly, RowsOfOtherSubgroupsDoNotCount) {
  auto rows = scores_of_five();
  count_only(kCodes, 7, kNotCounted, rows);
  const auto all = read(rows, 0, 5);
  EXPECT_THAT(all.targets,
              ElementsAre(kPositive, kNegative, kNotCounted, kNotCounted, kPositive, kNegative,
                          kNotCounted, kNotCounted, kNotCounted, kNotCounted));
  EXPECT_THAT(all.scores, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)) << "these are only passed on";
}

// Rows are read in windows: codes belong to rows, not to places in a window.
TEST(CountOnly, AWindowHasTheCodesOfItsRows) {
  auto rows = scores_of_five();
  count_only(kCodes, -3, kNotCounted, rows);
  EXPECT_THAT(read(rows, 1, 1).targets, ElementsAre(kNegative, kPositive));
  EXPECT_THAT(read(rows, 3, 2).targets,
              ElementsAre(kNotCounted, kNotCounted, kPositive, kNegative));
  EXPECT_THAT(read(rows, 5, 0).targets, testing::IsEmpty()) << "a rank without rows";
}

TEST(CountOnly, AValueThatNoRowHasLeavesNothing) {
  auto rows = scores_of_five();
  count_only(kCodes, 8, kNotCounted, rows);
  EXPECT_THAT(read(rows, 0, 5).targets, testing::Each(kNotCounted));
}

TEST(CountOnly, TargetsOfValuesBecomeNan) {
  ordered_metrics::PairRows rows;
  rows.num_rows = 5;
  rows.num_outputs = 1;
  rows.read = [](std::int64_t first, std::int64_t count, std::span<float> predictions,
                 std::span<float> targets) {
    for (std::size_t i = 0; i < to_size(count); ++i) {
      predictions[i] = targets[i] = static_cast<float>(first) + static_cast<float>(i);
    }
  };
  count_only(kCodes, 0, std::numeric_limits<float>::quiet_NaN(), rows);
  std::vector<float> predictions(3), targets(3);
  rows.read(2, 3, predictions, targets);
  EXPECT_THAT(predictions, ElementsAre(2, 3, 4));
  EXPECT_TRUE(std::isnan(targets[0]));
  EXPECT_EQ(targets[1], 3);
  EXPECT_TRUE(std::isnan(targets[2]));
}

}  // namespace
}  // namespace tally::app
