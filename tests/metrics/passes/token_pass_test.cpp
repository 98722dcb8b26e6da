// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/metrics/multiclass_statistics.hpp>
#include <tally/metrics/token_pass.hpp>

namespace tally::metrics {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kIgnored = -100;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void compute(const TensorView& scores, const TensorView& labels, std::int64_t num_sequences,
             TokenStatistics& stats, OutputKind kind = OutputKind::logits, int threads = 1) {
  ThreadTeam team(threads);
  compute_token_statistics(scores, labels, num_sequences, {kind, kIgnored}, team, stats);
}

// Sequences of random scores, a third of whose places are scored.
struct Sequences {
  explicit Sequences(std::int64_t count, std::int64_t num_places = 5, std::int64_t vocabulary = 11)
      : shape{count, num_places, vocabulary} {
    std::mt19937 random(7);
    for (std::int64_t i = 0; i < num_elements(shape); ++i) {
      scores.push_back(static_cast<float>(static_cast<int>(random() % 41) - 20) / 4);
    }
    for (std::int64_t i = 0; i < count * num_places; ++i) {
      labels.push_back(random() % 3 == 0 ? static_cast<std::int64_t>(random()) % vocabulary
                                         : kIgnored);
    }
  }

  TensorView scores_view() { return contiguous_view(scores.data(), DType::f32, shape); }
  TensorView labels_view() {
    return contiguous_view(labels.data(), DType::i64, {shape[0], shape[1]});
  }
  TokenStatistics examine(OutputKind kind = OutputKind::logits, int threads = 1) {
    TokenStatistics stats;
    compute(scores_view(), labels_view(), shape[0], stats, kind, threads);
    return stats;
  }
  float* at(std::int64_t sequence, std::int64_t place) {
    return scores.data() + (sequence * shape[1] + place) * shape[2];
  }

  Shape shape;
  std::vector<float> scores;
  std::vector<std::int64_t> labels;
};

std::vector<TokenRecord> scored_of(std::span<const TokenRecord> rows) {
  std::vector<TokenRecord> scored;
  for (const TokenRecord& row : rows) {
    if (row.scored) scored.push_back(row);
  }
  return scored;
}

TEST(TokenPass, FindsWhatThePassOverClassesFinds) {
  for (const OutputKind kind : {OutputKind::logits, OutputKind::log_probabilities}) {
    Sequences given(40);
    if (kind == OutputKind::log_probabilities) {
      for (float& score : given.scores) score = -std::abs(score);
    }
    const TokenStatistics stats = given.examine(kind);
    RowStatistics classes;
    TensorView as_rows =
        contiguous_view(given.scores.data(), DType::f32, {40 * given.shape[1], given.shape[2]});
    compute_multiclass_statistics(
        as_rows, 0, given.labels,
        {.kind = kind, .has_ignore_index = true, .ignore_index = kIgnored}, classes);
    ASSERT_EQ(stats.rows.size(), classes.rows.size());
    EXPECT_EQ(stats.num_places, given.shape[1]);
    int scored = 0, right = 0;
    for (std::size_t i = 0; i < stats.rows.size(); ++i) {
      const TokenRecord& row = stats.rows[i];
      ASSERT_EQ(row.scored, !classes.rows[i].ignored);
      if (!row.scored) continue;
      EXPECT_EQ(row.loss, classes.rows[i].loss);
      EXPECT_EQ(row.rank, classes.rows[i].label_rank);
      EXPECT_EQ(row.prediction, classes.rows[i].prediction);
      EXPECT_TRUE(row.finite);
      ++scored;
      if (row.rank == 0) ++right;
    }
    EXPECT_GT(scored, 30);
    EXPECT_GT(right, 0);
  }
}

TEST(TokenPass, OfEqualTokensTheFirstIsPredicted) {
  Sequences given(1, 3, 4);
  given.scores = {1, 2, 2, 0, 2, 1, 2, 2, 5, 5, 5, 5};
  given.labels = {2, 0, 3};
  const TokenStatistics stats = given.examine();
  std::vector<std::int32_t> ranks;
  for (const TokenRecord& row : stats.sequence(0)) ranks.push_back(row.rank);
  EXPECT_THAT(ranks, ElementsAre(1, 0, 3));
  EXPECT_EQ(stats.rows[0].prediction, 1);
  EXPECT_EQ(stats.rows[2].prediction, 0);
  EXPECT_DOUBLE_EQ(stats.rows[2].loss, std::log(4.0));
}

TEST(TokenPass, LooksAtNoPlaceThatIsNotScored) {
  Sequences given(3);
  const std::vector<TokenRecord> before = scored_of(given.examine().rows);
  for (std::int64_t i = 0; i < std::ssize(given.labels); ++i) {
    if (given.labels[to_size(i)] == kIgnored) *given.at(0, i) = kNan;
  }
  const std::vector<TokenRecord> after = scored_of(given.examine().rows);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_TRUE(after[i].finite);
    EXPECT_EQ(after[i].loss, before[i].loss);
  }
}

TEST(TokenPass, MarksPlacesWithoutFiniteScores) {
  Sequences given(2, 2, 3);
  given.labels = {0, 1, 2, kIgnored};
  given.at(0, 1)[2] = kNan;
  const TokenStatistics stats = given.examine();
  EXPECT_TRUE(stats.rows[0].finite);
  EXPECT_FALSE(stats.rows[1].finite);
  EXPECT_TRUE(stats.rows[1].scored);
  EXPECT_EQ(stats.rows[1].rank, -1);
  EXPECT_EQ(stats.rows[1].prediction, -1);
  EXPECT_EQ(stats.rows[1].loss, 0);
  EXPECT_FALSE(stats.wrong_kind_sequence);
}

TEST(TokenPass, ThreadsChangeNoBit) {
  Sequences given(13, 7, 301);
  given.at(5, 2)[9] = kNan;
  given.labels[5 * 7 + 2] = 4;
  const TokenStatistics alone = given.examine();
  EXPECT_EQ(
      scored_of(alone.rows).size(),
      std::size_t(std::ranges::count_if(given.labels, [](auto label) { return label >= 0; })));
  for (const int threads : {2, 3, 5, 200}) {
    const TokenStatistics shared = given.examine(OutputKind::logits, threads);
    ASSERT_EQ(shared.rows.size(), alone.rows.size());
    for (std::size_t i = 0; i < alone.rows.size(); ++i) {
      EXPECT_EQ(shared.rows[i].scored, alone.rows[i].scored);
      EXPECT_EQ(shared.rows[i].finite, alone.rows[i].finite);
      EXPECT_EQ(shared.rows[i].loss, alone.rows[i].loss);
      EXPECT_EQ(shared.rows[i].rank, alone.rows[i].rank);
      EXPECT_EQ(shared.rows[i].prediction, alone.rows[i].prediction);
    }
  }
}

TEST(TokenPass, ReadsNarrowLabelsAndSomeOfTheSequences) {
  Sequences given(6);
  const TokenStatistics all = given.examine();
  std::vector<std::int32_t> narrow(given.labels.begin(), given.labels.end());
  const TensorView labels = contiguous_view(narrow.data(), DType::i32, {6, 5});
  TokenStatistics stats;
  compute(given.scores_view(), labels, 4, stats);
  ASSERT_EQ(stats.rows.size(), 20U);
  for (std::size_t i = 0; i < stats.rows.size(); ++i) {
    EXPECT_EQ(stats.rows[i].scored, all.rows[i].scored);
    EXPECT_EQ(stats.rows[i].loss, all.rows[i].loss);
  }
}

TEST(TokenPass, ReadsBFloat16AsTheFloatOfThatValue) {
  Sequences given(6, 4, 90);
  std::vector<std::uint16_t> halves;
  std::mt19937 random(3);
  for (float& score : given.scores) {
    halves.push_back(static_cast<std::uint16_t>(0x3f00 + random() % 0x180 + (random() % 2 << 15)));
    score = std::bit_cast<float>(std::uint32_t{halves.back()} << 16);
  }
  halves[5] = 0x7fc0;  // NaN
  given.scores[5] = kNan;
  given.labels[0] = 3;
  const auto expected = given.examine().rows;
  for (const int threads : {1, 3}) {
    TokenStatistics stats;
    compute(contiguous_view(halves.data(), DType::bf16, given.shape), given.labels_view(), 6, stats,
            OutputKind::logits, threads);
    ASSERT_EQ(stats.rows.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(stats.rows[i].loss, expected[i].loss);
      EXPECT_EQ(stats.rows[i].rank, expected[i].rank);
      EXPECT_EQ(stats.rows[i].finite, expected[i].finite);
    }
    EXPECT_FALSE(stats.rows[0].finite);
  }
}

TEST(TokenPass, NamesTheFirstSequenceOfAnotherKind) {
  Sequences given(4, 2, 3);
  for (float& score : given.scores) score = -1;
  given.labels = {0, 0, 0, 0, 0, 0, 0, kIgnored};
  given.at(2, 1)[0] = given.at(3, 0)[0] = 0.5f;
  for (const int threads : {1, 2, 3, 20}) {
    EXPECT_EQ(given.examine(OutputKind::log_probabilities, threads).wrong_kind_sequence, 2);
  }
  EXPECT_FALSE(given.examine().wrong_kind_sequence);
}

TEST(TokenPass, RefusesOtherForms) {
  Sequences given(2, 3, 4);
  const auto refuse = [&](const TensorView& scores, const TensorView& labels) {
    TokenStatistics stats;
    EXPECT_THROW(compute(scores, labels, 2, stats), Error);
  };
  TensorView scores = given.scores_view(), labels = given.labels_view();
  labels.shape[1] = 2;
  refuse(scores, labels);
  labels = given.labels_view();
  labels.dtype = DType::u8;
  refuse(scores, labels);
  scores.dtype = DType::f64;
  refuse(scores, given.labels_view());
  scores = given.scores_view();
  scores.shape = {2, 12};
  refuse(scores, given.labels_view());
  given.labels[0] = 4;
  refuse(given.scores_view(), given.labels_view());
}

}  // namespace
}  // namespace tally::metrics
