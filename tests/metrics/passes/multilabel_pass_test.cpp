// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/multilabel_pass.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/base/error.hpp>

#include "labels.hpp"
#include "passes/multilabel_statistics.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

LabelStatistics examine(LabelSamples samples, const LabelRules& rules,
                        std::int64_t first_index = 0) {
  LabelStatistics stats;
  compute_multilabel_statistics(samples.score_view(0, samples.size()),
                                samples.target_view(0, samples.size()), first_index, samples.size(),
                                rules, stats);
  return stats;
}

LabelStatistics examine_binary(const std::vector<float>& scores, std::vector<std::int64_t> labels,
                               const LabelRules& rules) {
  return examine({1, scores, std::move(labels), {}}, rules);
}

// What the kernel runs: it is the CPU's own code, and free of library functions.
constexpr MultilabelRecord constant_row() {
  const float scores[] = {2.0f, -1.0f, 0.5f};
  const std::uint8_t set[] = {1, 0, 0};
  float probabilities[3] = {};
  std::uint8_t targets[3] = {};
  MultilabelRecord row;
  compute_sample_statistics({scores, 3, nullptr, set, 3}, {.ranking = LabelRanking::wanted}, row,
                            {probabilities, targets});
  return row;
}
static_assert(constant_row().scored == 3 && constant_row().right == 2);
static_assert(constant_row().coverage == 1 && constant_row().ranking_loss == 0);

TEST(LabelScalar, OneMinusExpIsRightToTheLastDigits) {
  for (double x = -40; x < -1e-12; x *= 0.93) {
    EXPECT_NEAR(one_minus_exp(x) / -std::expm1(x), 1.0, 2e-14) << x;
  }
  EXPECT_EQ(one_minus_exp(0.0), 0.0);
  EXPECT_EQ(one_minus_exp(-std::numeric_limits<double>::infinity()), 1.0);
}

TEST(LabelScalar, KindsOfOutputAgree) {
  for (float x = -30; x <= 30; x += 0.37f) {
    const Chance from_logit = chance_of(x, OutputKind::logits);
    const auto log_p = static_cast<float>(-std::log1p(std::exp(-double{x})));
    const Chance from_log = chance_of(log_p, OutputKind::log_probabilities);
    EXPECT_NEAR(from_logit.probability, 1 / (1 + std::exp(-double{x})), 1e-14);
    // Also where they are next to nothing.
    EXPECT_NEAR(from_logit.loss_if_set / std::log1p(std::exp(-double{x})), 1, 1e-14) << x;
    EXPECT_NEAR(from_logit.loss_if_not / std::log1p(std::exp(double{x})), 1, 1e-14) << x;
    EXPECT_NEAR(from_log.probability, std::exp(double{log_p}), 1e-14);
    EXPECT_NEAR(from_log.loss_if_set, -double{log_p}, 1e-15);
    EXPECT_NEAR(from_log.loss_if_not, -std::log(-std::expm1(double{log_p})), 1e-13);
    const auto p = static_cast<float>(from_logit.probability);
    const Chance from_p = chance_of(p, OutputKind::probabilities);
    EXPECT_EQ(from_p.probability, double{p});
    EXPECT_NEAR(from_p.loss_if_set, -std::log(double{p}), 1e-13);
  }
}

TEST(LabelScalar, ImpossibleTruthsCostAsMuchAsTheSmallestFloat) {
  for (const auto& [score, kind] :
       {std::pair{-kInf, OutputKind::logits}, std::pair{-kInf, OutputKind::log_probabilities},
        std::pair{0.0f, OutputKind::probabilities},
        std::pair{-0.004f, OutputKind::probabilities}}) {
    const Chance chance = chance_of(score, kind);
    EXPECT_EQ(static_cast<float>(chance.probability), 0.0f);
    EXPECT_EQ(chance.loss_if_set, kZeroProbabilityLoss);
    EXPECT_EQ(static_cast<float>(chance.loss_if_not), 0.0f);
    EXPECT_FALSE(std::signbit(chance.loss_if_not));
  }
  for (const auto& [score, kind] : {std::pair{0.004f, OutputKind::log_probabilities},
                                    std::pair{1.004f, OutputKind::probabilities}}) {
    EXPECT_EQ(chance_of(score, kind).probability, 1.0);
    EXPECT_EQ(chance_of(score, kind).loss_if_not, kZeroProbabilityLoss);
    EXPECT_EQ(chance_of(score, kind).loss_if_set, 0.0);
  }
}

TEST(ExamineLabels, OfOneScoreAndOfTwo) {
  const LabelRules rules{.has_ignore_index = true, .ignore_index = -100};
  const LabelStatistics one = examine_binary({2, -1, 0, 3}, {1, 1, 0, -100}, rules);
  const LabelStatistics two = examine_binary({1, 3, 0, -1, 5, 5, -2, 1}, {1, 1, 0, -100}, rules);

  EXPECT_EQ(one.probabilities, two.probabilities);
  EXPECT_THAT(one.targets, ElementsAre(1, 1, 0, kNotScored));
  EXPECT_EQ(one.probabilities[2], 0.5f);
  for (const LabelStatistics& stats : {one, two}) {
    EXPECT_EQ(stats.rows[0].right, 1);
    EXPECT_EQ(stats.rows[1].right, 0);
    EXPECT_EQ(stats.rows[2].right, 1) << "0.5 is not above the threshold";
    EXPECT_NEAR(stats.rows[1].loss, std::log1p(std::exp(1.0)), 1e-14);
    EXPECT_TRUE(stats.rows[3].is_ignored());
    EXPECT_TRUE(std::isnan(stats.rows[3].loss));
    EXPECT_EQ(stats.rows[3].index, 3u);
  }
}

TEST(ExamineLabels, TheClassThatIsIgnoredMayBeOneOfTheTwo) {
  const LabelRules rules{.has_ignore_index = true, .ignore_index = 0};
  EXPECT_THAT(examine_binary({2, -1}, {1, 0}, rules).targets, ElementsAre(1, kNotScored));
}

TEST(ExamineLabels, TwoProbabilitiesAreTakenAsTheyAre) {
  const LabelStatistics stats =
      examine_binary({1e-10f, 1, 1, 0}, {0, 0}, {.kind = OutputKind::probabilities});
  EXPECT_NEAR(stats.rows[0].loss, 10 * std::log(10.0), 1e-6);
  EXPECT_EQ(stats.rows[1].loss, 0.0);
}

TEST(ExamineLabels, MarginsOfProbabilitiesAndOfScores) {
  const auto hinge = [](HingeOn on, std::int64_t label) {
    return examine_binary({0.25f}, {label}, {.kind = OutputKind::probabilities, .hinge = on})
        .rows[0]
        .hinge;
  };
  EXPECT_EQ(hinge(HingeOn::probabilities, 1), 0.75);
  EXPECT_EQ(hinge(HingeOn::scores, 0), 1.25);
  EXPECT_TRUE(std::isnan(hinge(HingeOn::nothing, 1)));
  const LabelStatistics far =
      examine_binary({-3, -kInf, -kInf, 9}, {1, 1}, {.hinge = HingeOn::scores});
  EXPECT_EQ(far.rows[0].hinge, std::numeric_limits<float>::max());
  EXPECT_EQ(far.rows[1].hinge, 0.0);
}

// By hand. Order: 0.9 (set), 0.8 and 0.8 (one set), 0.1 (not), and one that is not scored.
TEST(ExamineLabels, RankingsCountTiesAgainstTheModel) {
  const LabelRules rules{.kind = OutputKind::probabilities,
                         .has_ignore_index = true,
                         .ignore_index = 9,
                         .ranking = LabelRanking::wanted};
  const MultilabelRecord row =
      examine({5, {0.8f, 0.9f, 0.1f, 0.8f, 0.95f}, {}, {1, 1, 0, 0, 9}}, rules).rows[0];
  EXPECT_EQ(row.scored, 4);
  EXPECT_EQ(row.coverage, 3);
  EXPECT_DOUBLE_EQ(row.ranking_loss, 1.0 / 4);
  EXPECT_DOUBLE_EQ(row.ranking_precision, (1.0 + 2.0 / 3) / 2);

  const LabelStatistics same = examine({2, {0.8f, 0.9f, 0.1f, 0.8f}, {}, {1, 1, 0, 0}}, rules);
  EXPECT_EQ(same.rows[0].coverage, 2);
  EXPECT_EQ(same.rows[1].coverage, 0);
  for (const MultilabelRecord& all_or_none : same.rows) {
    EXPECT_EQ(all_or_none.ranking_loss, 0.0);
    EXPECT_EQ(all_or_none.ranking_precision, 1.0);
  }
}

TEST(ExamineLabels, OneBadScoreMakesTheSampleUnscorable) {
  for (const float bad : {kNaN, kInf}) {
    const LabelStatistics stats = examine({3, {1, bad, 1, 1, 1, 1}, {}, {1, 0, 1, 1, 0, 1}}, {});
    EXPECT_FALSE(stats.rows[0].finite);
    EXPECT_EQ(stats.rows[0].scored, 3);
    EXPECT_EQ(stats.rows[0].right, 0);
    EXPECT_TRUE(std::isnan(stats.rows[0].loss));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(stats.probabilities[i]));
    EXPECT_THAT(std::vector(stats.targets.begin(), stats.targets.begin() + 3),
                ElementsAre(1, 0, 1));
    EXPECT_TRUE(stats.rows[1].finite);
  }
  EXPECT_FALSE(examine_binary({-kInf, -kInf}, {1}, {}).rows[0].finite) << "no class is possible";
  EXPECT_TRUE(examine_binary({-kInf}, {1}, {}).rows[0].finite);
  EXPECT_FALSE(examine_binary({-kInf}, {1}, {.kind = OutputKind::probabilities}).rows[0].finite);
}

TEST(ExamineLabels, NoticesOutputsOfAnotherKind) {
  const LabelRules rules{.kind = OutputKind::probabilities};
  EXPECT_EQ(examine_binary({0.5f, 1.5f, -3}, {1, 1, 1}, rules).wrong_kind_row, 1);
  EXPECT_EQ(examine({2, {0, 1, 0, -0.5f}, {}, {1, 0, 0, 0}}, rules).wrong_kind_row, 1);
  EXPECT_FALSE(examine_binary({0.5f, 1.005f}, {1, 1}, rules).wrong_kind_row);
}

std::string refusal(const TensorView& scores, const TensorView& targets, std::int64_t rows = 2) {
  LabelStatistics stats;
  try {
    compute_multilabel_statistics(scores, targets, 0, rows, {}, stats);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "nothing was refused";
}

TEST(ExamineLabels, RefusesOtherForms) {
  LabelSamples one{1, {0, 0, 0, 0}, {0, 1, 0, 1}, {}};
  LabelSamples two{2, {0, 0, 0, 0}, {}, {0, 1, 0, 1}};
  EXPECT_THAT(refusal(one.score_view(0, 4), two.target_view(0, 2)), HasSubstr("[4, 1]"));
  EXPECT_THAT(refusal(two.score_view(0, 2), two.target_view(0, 2), 3), HasSubstr("of 3 rows"));
  const auto as = [&](DType dtype, Shape shape) {
    return contiguous_view(one.scores.data(), dtype, std::move(shape));
  };
  for (const Shape& shape : {Shape{2, 3}, Shape{1}, Shape{}, Shape{2, 1, 1}}) {
    EXPECT_THAT(refusal(as(DType::f32, shape), one.target_view(0, 2)), HasSubstr("was given"));
  }
  EXPECT_THAT(refusal(as(DType::f64, {2, 1}), one.target_view(0, 2)), HasSubstr("float64"));
  EXPECT_THAT(refusal(as(DType::f32, {2}), as(DType::f32, {2})), HasSubstr("was given"));
  one.labels[1] = 2;
  EXPECT_THAT(refusal(one.score_view(0, 2), one.target_view(0, 2)),
              HasSubstr("row 1 of a batch has a target that is none"));
}

TEST(ExamineLabels, RowsMayLieApart) {
  LabelSamples samples{2, {1, -1, 9, -1, 1, 9}, {}, {1, 0, 7, 0, 1, 7}};
  TensorView scores = contiguous_view(samples.scores.data(), DType::f32, {2, 2});
  TensorView targets = contiguous_view(samples.targets.data(), DType::u8, {2, 2});
  scores.strides[0] = targets.strides[0] = 3;
  LabelStatistics stats;
  compute_multilabel_statistics(scores, targets, 0, 2, {}, stats);
  EXPECT_EQ(stats.rows[0].right + stats.rows[1].right, 4);
}

}  // namespace
}  // namespace tally::metrics
