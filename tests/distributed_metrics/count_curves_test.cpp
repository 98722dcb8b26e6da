// SPDX-License-Identifier: Apache-2.0
#include <tally/distributed_metrics/global_curves_and_bootstrap.hpp>

#include <limits>
#include <optional>

#include <gmock/gmock.h>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/ordered_metrics/score_rows.hpp>

#include "comm_fixture.hpp"
#include "curves.hpp"
#include "slices.hpp"

namespace tally::distributed_metrics {
namespace {

using namespace ordered_metrics;

class CountCurvesTest : public comm::CommTest {
 protected:
  ScoreRows local(const Scores& all, int how) {
    const Slice slice = slice_of(how, all.num_rows(), rank(), size());
    return all.slice(slice.first, slice.count);
  }
};

TEST_F(CountCurvesTest, EqualTheSlowCountForAnyDistributionOfTheRows) {
  for (const int levels : {0, 1, 2, 7}) {
    for (const std::int64_t num_rows : {0, 1, 4, 60}) {
      const auto seed = static_cast<std::uint64_t>(levels * 1000 + num_rows);
      const Scores all = random_scores(seed, num_rows, 3, levels);
      const auto expected = slow_counts(all);
      for (int how = 0; how < kNumSlicings; ++how) {
        EXPECT_EQ(count_curves(world(), local(all, how)), expected)
            << levels << " levels, " << num_rows << " rows, slicing " << how;
      }
    }
  }
}

TEST_F(CountCurvesTest, WindowsChangeNothing) {
  // More than a window holds on one rank.
  Scores all{1, {}, {}};
  for (int i = 0; i < (1 << 20) + 77; ++i) {
    all.scores.push_back(static_cast<float>(i % 5) / 4);
    all.targets.push_back(static_cast<std::uint8_t>(i % 3));
  }
  EXPECT_EQ(count_curves(world(), local(all, 1)), slow_counts(all));
}

// So many thresholds that scores are sorted rather than searched. Scores are k / 2^18 in a random
// order: positives at k = 2 mod 3, negatives at k = 0 and 1 mod 3, a second negative at each 5th k.
TEST_F(CountCurvesTest, ManyThresholdsChangeNothing) {
  constexpr int kScores = 3 * 70000;
  Scores all{1, {}, {}};
  const auto add = [&](std::int64_t k, std::uint8_t target) {
    all.scores.push_back(static_cast<float>(k) * 0x1p-18F);
    all.targets.push_back(target);
  };
  for (std::int64_t i = 0; i < kScores; ++i) {
    const std::int64_t k = i * 7919 % kScores;
    add(k, k % 3 == 2 ? kPositive : kNegative);
    if (k % 5 == 0) add(k, kNegative);
  }
  CurveCounts expected;
  for (std::int64_t k = kScores - 1; k >= 0; k -= 3) {
    expected.thresholds.push_back(static_cast<float>(k) * 0x1p-18F);
    expected.positives_at.push_back(1);
    expected.negatives_at.push_back(k % 5 == 0 ? 1 : 0);
    // Above the largest there is nothing; k + 1 and k + 2 lie above the others.
    const bool is_first = k == kScores - 1;
    expected.negatives_above.push_back(
        is_first ? 0 : 2 + ((k + 1) % 5 == 0 || (k + 2) % 5 == 0 ? 1 : 0));
  }
  expected.positives = kScores / 3;
  expected.negatives = kScores - kScores / 3 + kScores / 5;
  for (int how = 0; how < kNumSlicings; ++how) {
    const auto found = count_curves(world(), local(all, how));
    EXPECT_TRUE(found.front() == expected) << "slicing " << how;
  }
}

TEST_F(CountCurvesTest, MinusZeroIsZero) {
  const Scores all{1, {0.0F, -0.0F, -0.0F, 0.0F}, {1, 0, 1, 0}};
  const auto counts = count_curves(world(), local(all, 0));
  EXPECT_EQ(counts, slow_counts(all));
  EXPECT_EQ(counts[0].positives_at, std::vector<std::int64_t>{2});
  EXPECT_FALSE(std::signbit(counts[0].thresholds[0]));
}

TEST_F(CountCurvesTest, Bfloat16KeysAreTheCountsOfRoundedScores) {
  const Scores all = random_scores(9, 200, 2, 0);
  Scores rounded = all;
  for (float& score : rounded.scores) score = nearest_bfloat16(score);
  const auto counts = count_curves(world(), local(all, 1), ScoreKeys::bfloat16);
  EXPECT_EQ(counts, slow_counts(rounded));
  EXPECT_NE(counts, slow_counts(all));
}

TEST_F(CountCurvesTest, WhatDoesNotCountMayBeAnything) {
  Scores all = random_scores(4, 30, 2, 5);
  auto expected = slow_counts(all);
  for (std::size_t i = 0; i < all.scores.size(); ++i) {
    if (all.targets[i] == kNotCounted) all.scores[i] = std::nanf("");
  }
  EXPECT_EQ(count_curves(world(), local(all, 0)), expected);
}

TEST_F(CountCurvesTest, AScoreThatIsNotFiniteIsAgreedOn) {
  Scores all = random_scores(4, 30, 2, 5, 0.5, 0.0);
  all.scores[2 * 29 + 1] = std::numeric_limits<float>::infinity();
  const ScoreRows rows = local(all, 0);
  const bool is_mine = rows.first_index + rows.num_rows == 30 && rows.num_rows > 0;
  std::optional<ErrorKind> kind;
  testing::internal::CaptureStderr();
  try {
    count_curves(world(), rows);
  } catch (const comm::AgreedFailure& failure) {
    kind = failure.kind;
  }
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(kind, ErrorKind::numeric);
  EXPECT_THAT(
      said, is_mine ? testing::HasSubstr("sample 29 for class 1 is inf") : testing::HasSubstr(""));
  EXPECT_EQ(said.empty(), !is_mine) << said;
}

TEST_F(CountCurvesTest, AnUnknownTargetIsRefused) {
  Scores all = random_scores(4, 5, 2, 5);
  for (auto& target : all.targets) target = 3;
  testing::internal::CaptureStderr();
  EXPECT_THROW(count_curves(world(), local(all, 0)), comm::AgreedFailure);
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace tally::distributed_metrics
