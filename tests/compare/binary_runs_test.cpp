// SPDX-License-Identifier: Apache-2.0
// Two binary runs read from their files: figures by hand, thresholds, log-odds, damaged rows.
#include <gmock/gmock.h>

#include <cmath>

#include <tally/metrics/multiclass_statistics.hpp>

#include "run_file.hpp"

namespace tally::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<float> kScoresA{0.75F, 0.5F, 0.25F, 0.875F, 0.125F, 0.625F};
const std::vector<float> kScoresB{0.5F, 0.25F, 0.75F, 0.125F, 0.75F, 0.875F};

std::vector<float> log_odds(const std::vector<float>& scores) {
  std::vector<float> odds;
  for (const float score : scores) odds.push_back(std::log(score / (1 - score)));
  return odds;
}

// Six samples with the labels 1 0 1 - 0 1; the fourth is not scored. The losses are not those of
// the scores, so that it shows where a loss is from.
class BinaryRunsTest : public RunFilesTest {
 protected:
  BinaryRunsTest() {
    for (RunFile* run : {&a_, &b_}) {
      run->attribute("ignore_index", "-1");
      run->column<std::int64_t>("index", {0, 1, 2, 3, 4, 5});
      run->column<std::int64_t>("label", {1, 0, 1, -1, 0, 1});
    }
    a_.column<std::int64_t>("prediction", {1, 0, 0, 1, 0, 1})
        .column<float>("loss", {0.25F, 0.5F, 0.75F, kNan, 1, 2})
        .column("score", kScoresA);
    b_.column<std::int64_t>("prediction", {0, 0, 1, 0, 1, 1})
        .column<float>("loss", {0.5F, 0.5F, 0.5F, kNan, 0.5F, 0.5F})
        .column("score", kScoresB);
  }
  void add_logits() {
    a_.column("logits", log_odds(kScoresA));
    b_.column("logits", log_odds(kScoresB));
  }
  Comparison compare_by(const std::vector<std::string>& names) {
    return compare(a_, b_, {.metrics = names, .replicates = 20});
  }

  RunFile a_{"binary", 2}, b_{"binary", 2};
};

void expect_values(const Comparison& comparison, const std::string& name, double a, double b) {
  EXPECT_NEAR(metric_of(comparison, name).a.value(), a, 1e-12) << name;
  EXPECT_NEAR(metric_of(comparison, name).b.value(), b, 1e-12) << name;
}

// Each by its definition in docs/metrics.md, from what is written above.
TEST_F(BinaryRunsTest, FiguresByHand) {
  const Comparison found = compare_by({"accuracy", "loss", "brier", "hinge", "auroc", "recall"});
  EXPECT_EQ(found.outcomes->metric, "accuracy");
  EXPECT_THAT(counts_of(found), ElementsAre(2, 2, 1, 0));
  EXPECT_EQ(found.samples.count, 6);
  EXPECT_EQ(found.samples.ignored, 1);
  expect_values(found, "accuracy", 0.8, 0.6);
  expect_values(found, "recall", 2.0 / 3, 2.0 / 3);
  expect_values(found, "loss", 4.5 / 5, 0.5);
  expect_values(found, "brier", 1.03125 / 5, 0.953125 / 5);
  expect_values(found, "hinge", 4.0 / 5, 3.875 / 5);
  // Pairs of a positive and a negative that are in order; in B one is tied.
  expect_values(found, "auroc", 5.0 / 6, 4.5 / 6);
  EXPECT_THAT(found.left_out, IsEmpty());
}

TEST_F(BinaryRunsTest, ChangesHaveTheProbabilityOfWhatIsPredicted) {
  const auto changes = std::get<ClassChanges>(compare_by({"accuracy"}).changes);
  EXPECT_EQ(changes.counts.right_to_wrong, 2);
  EXPECT_EQ(changes.counts.wrong_to_right, 1);
  ASSERT_EQ(changes.first.size(), 3U);
  EXPECT_EQ(changes.first[2].index, 4);
  EXPECT_EQ(changes.first[2].a.predicted, 0);
  EXPECT_EQ(changes.first[2].a.confidence, 0.875);
  EXPECT_EQ(changes.first[2].b.predicted, 1);
  EXPECT_EQ(changes.first[2].b.confidence, 0.75);
}

TEST_F(BinaryRunsTest, NoMoreChangesAreListedThanAsked) {
  const Comparison found =
      compare(a_, b_, {.metrics = {"accuracy"}, .replicates = 2, .most_changes = 1});
  EXPECT_EQ(std::get<ClassChanges>(found.changes).first.size(), 1U);
  EXPECT_EQ(std::get<ClassChanges>(found.changes).total(), 3);
  const Comparison none =
      compare(a_, b_, {.metrics = {"accuracy"}, .replicates = 2, .most_changes = 0});
  EXPECT_THAT(std::get<ClassChanges>(none.changes).first, IsEmpty());
}

TEST_F(BinaryRunsTest, BothAreComparedAtTheThresholdOfA) {
  b_.attribute("threshold", "0.25").column<std::int64_t>("prediction", {1, 0, 1, 0, 1, 1});
  const Comparison found = compare_by({"accuracy"});
  EXPECT_THAT(counts_of(found), ElementsAre(2, 2, 1, 0)) << "as at its own threshold of 0.5";
  EXPECT_THAT(found.notes,
              ElementsAre("B was evaluated with --threshold 0.25; both are compared at A's, 0.5"));
  // At 0.6875 A is right about samples 0, 1 and 4, B about 1, 2 and 5.
  a_.attribute("threshold", "0.6875").column<std::int64_t>("prediction", {1, 0, 0, 1, 0, 0});
  EXPECT_THAT(counts_of(compare_by({"accuracy"})), ElementsAre(1, 2, 2, 0));
}

TEST_F(BinaryRunsTest, ThePredictionAtTheThresholdIsZero) {
  a_.column<float>("score", {0.75F, 0.5F, 0.5F, 0.875F, 0.125F, 0.625F});
  EXPECT_THAT(counts_of(compare_by({"accuracy"})), ElementsAre(2, 2, 1, 0));
}

TEST_F(BinaryRunsTest, LogOddsOfBothGiveTheLoss) {
  a_.column("logits", log_odds(kScoresA));
  expect_values(compare_by({"loss"}), "loss", 4.5 / 5, 0.5);  // one file has none
  add_logits();
  const Comparison found = compare_by({"loss"});
  const auto loss = [](double product) { return -std::log(product) / 5; };
  EXPECT_NEAR(*metric_of(found, "loss").a, loss(0.75 * 0.5 * 0.25 * 0.875 * 0.625), 1e-6);
  EXPECT_NEAR(*metric_of(found, "loss").b, loss(0.5 * 0.75 * 0.75 * 0.25 * 0.875), 1e-6);
}

// One of two scores may be -Inf: the probability is 0 or 1, and that is a prediction.
TEST_F(BinaryRunsTest, InfiniteLogOddsAreCertainAndFinite) {
  std::vector<float> scores = kScoresB, odds = log_odds(kScoresB);
  scores[4] = 1;
  odds[4] = kInf;
  add_logits();
  b_.column("score", scores).column("logits", odds);
  const Comparison found = compare_by({"accuracy", "loss"});
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_THAT(counts_of(found), ElementsAre(2, 2, 1, 0));
  const double others = -std::log(0.5 * 0.75 * 0.75 * 0.875);
  EXPECT_NEAR(*metric_of(found, "loss").b, (metrics::kZeroProbabilityLoss + others) / 5, 1e-5);
}

TEST_F(BinaryRunsTest, HingeOfScikitLearnNeedsLogOdds) {
  for (RunFile* run : {&a_, &b_}) run->attribute("definitions", "sklearn");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"hinge"}),
              HasSubstr("needs the column 'logits', missing in A and B"));
  b_.attribute("outputs", "probabilities");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"hinge"}),
              HasSubstr("'hinge' is made of what the model returns, which is saved of logits only, "
                        "not in B"));
}

TEST_F(BinaryRunsTest, CurvesOfBfloat16TieScoresThatAreNearlyEqual) {
  // 0.501 and 0.5 have the same first eight significant bits. Positives have the former, others
  // less.
  const std::vector<float> scores{0.501F, 0.5F, 0.501F, 0, 0.5F, 0.501F};
  for (RunFile* run : {&a_, &b_}) {
    run->column("score", scores).column<std::int64_t>("prediction", {1, 0, 1, 0, 0, 1});
  }
  b_.attribute("curves", "bf16");
  Comparison found = compare_by({"auroc"});
  expect_values(found, "auroc", 1, 1);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("--curves bf16; both are compared by A's")));
  std::swap(a_, b_);
  expect_values(compare_by({"auroc"}), "auroc", 0.5, 0.5);
}

TEST_F(BinaryRunsTest, FilesThatDoNotSayHowCurvesWereMadeHaveNone) {
  b_.without("curves");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"auroc"}),
              HasSubstr("'auroc' was made as --curves says, which is not in B"));
  EXPECT_EQ(compare_by({"accuracy"}).metrics.size(), 1U);
}

TEST_F(BinaryRunsTest, OneSampleIsEnough) {
  for (RunFile* run : {&a_, &b_}) {
    run->column<std::int64_t>("index", {7}).column<std::int64_t>("label", {1});
    run->column<float>("loss", {0.5F});
  }
  a_.column<std::int64_t>("prediction", {1}).column<float>("score", {0.75F});
  b_.column<std::int64_t>("prediction", {0}).column<float>("score", {0.25F});
  const Comparison found = compare_by({"accuracy", "auroc"});
  EXPECT_THAT(counts_of(found), ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(metric_of(found, "accuracy").difference, -1.0);
  EXPECT_THAT(conclude(found).sentence,
              HasSubstr("No difference can be told: accuracy 1.0000 -> "));
}

// The logits of both are there, so that all columns are looked at.
const std::vector<Refusal> kDamages{
    {"Label",
     [](RunFile& run) {
       run.column<std::int64_t>("label", {1, 2, 1, -1, 0, 1});
     },
     "/label[1] = 2, expected 0, 1 or -1"},
    {"OtherLabel",
     [](RunFile& run) {
       run.column<std::int64_t>("label", {1, 0, 0, -1, 0, 1});
     },
     "differ in the labels: /label[2] is 1 and 0. Evaluate both models on one data set."},
    {"LabelThatIsNotScored",
     [](RunFile& run) {
       run.column<std::int64_t>("label", {1, 0, -1, -1, 0, 1});
     },
     "/label[2] is 1 and not scored"},
    {"Prediction",
     [](RunFile& run) {
       run.column<std::int64_t>("prediction", {0, 0, 2, 0, 1, 1});
     },
     "/prediction[2] = 2, expected 0, 1 or -1"},
    {"PredictionOfAnotherScore",
     [](RunFile& run) {
       run.column<std::int64_t>("prediction", {1, 0, 1, 0, 1, 1});
     },
     "/score[0] = 0.5, expected what fits the prediction at threshold 0.5"},
    {"NoPredictionWithAScore",
     [](RunFile& run) {
       run.column<std::int64_t>("prediction", {0, 0, -1, 0, 1, 1});
     },
     "/score[2] = 0.75, expected nan, for nothing is predicted"},
    {"ScoreAboveOne",
     [](RunFile& run) {
       run.column<float>("score", {0.5F, 0.25F, 1.25F, 0, 0.75F, 1});
     },
     "/score[2] = 1.25, expected 0 to 1"},
    {"NaNScore",
     [](RunFile& run) {
       run.column<float>("score", {0.5F, 0.25F, kNan, 0, 0.75F, 1});
     },
     "/score[2] = nan, expected 0 to 1"},
    {"NoScore", [](RunFile& run) { run.without("score"); },
     "has no column 'score'. Evaluate again with --save labels."},
    {"LogOddsOfAnotherScore",
     [](RunFile& run) {
       run.column<float>("logits", {0, 0, 0, 0, 0, 0});
     },
     "/logits[1] = a score of probability 0.5, expected that of 0.25"},
    {"NaNLogOdds",
     [](RunFile& run) {
       run.column<float>("logits", {0, kNan, 0, 0, 0, 0});
     },
     "/logits[1] = NaN or Inf, expected finite scores, for there is a prediction"},
    {"NaNLoss",
     [](RunFile& run) {
       run.column<float>("loss", {1, 1, 1, 1, kNan, 1});
     },
     "/loss[4] = nan, expected a finite number"},
    {"MoreClasses", [](RunFile& run) { run.attribute("num_classes", "3"); },
     "num_classes = '3', expected 2"},
    {"OtherIgnoredIndex", [](RunFile& run) { run.without("ignore_index"); },
     "differ in num_classes or ignore_index"},
};

class DamagedBinaryRunTest : public BinaryRunsTest, public testing::WithParamInterface<Refusal> {};

TEST_P(DamagedBinaryRunTest, IsRefused) {
  add_logits();
  GetParam().spoil(b_);
  EXPECT_THAT(refusal_of(a_, b_), HasSubstr(GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(Damages, DamagedBinaryRunTest, testing::ValuesIn(kDamages), case_name);

}  // namespace
}  // namespace tally::compare
