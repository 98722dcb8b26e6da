// SPDX-License-Identifier: Apache-2.0
// Two multilabel runs read from their files: figures by hand, what few columns give, damaged rows.
#include <gmock/gmock.h>

#include "run_file.hpp"

namespace tally::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<float> kProbabilitiesA{0.75F, 0.25F,  0.625F,  //
                                         0.25F, 0.875F, 0.75F,   //
                                         0.25F, 0.25F,  0.25F,   //
                                         0.75F, 0.125F, 0.5F};
const std::vector<float> kProbabilitiesB{0.875F, 0.625F, 0.75F,  //
                                         0.125F, 0.75F,  0.25F,  //
                                         0.75F,  0.75F,  0.75F,  //
                                         0.25F,  0.5F,   0.25F};

// Four samples of three labels, one of which is not scored in the second, and none in the third.
class MultilabelRunsTest : public RunFilesTest {
 protected:
  MultilabelRunsTest() {
    for (RunFile* run : {&a_, &b_}) {
      run->attribute("ignore_index", "2");
      run->column<std::int64_t>("index", {0, 4, 5, 9});
      run->column<std::uint8_t>("label", {1, 0, 1, 0, 1, 2, 2, 2, 2, 0, 0, 1}, {3});
    }
    a_.column<std::uint8_t>("prediction", {1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0}, {3})
        .column<float>("loss", {0.5F, 1, kNan, 2});
    b_.column<std::uint8_t>("prediction", {1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 0}, {3})
        .column<float>("loss", {1, 1, kNan, 1});
  }
  void add_probabilities() {
    a_.column("probabilities", kProbabilitiesA, {3});
    b_.column("probabilities", kProbabilitiesB, {3});
  }
  Comparison compare_by(const std::vector<std::string>& names) {
    return compare(a_, b_, {.metrics = names, .replicates = 20});
  }

  RunFile a_{"multilabel", 3}, b_{"multilabel", 3};
};

void expect_values(const Comparison& comparison, const std::string& name, double a, double b) {
  EXPECT_NEAR(metric_of(comparison, name).a.value(), a, 1e-12) << name;
  EXPECT_NEAR(metric_of(comparison, name).b.value(), b, 1e-12) << name;
}

// Of 8 scored labels A has 3 + 2 + 1 right, B has 2 + 2 + 2; losses are weighted by labels.
TEST_F(MultilabelRunsTest, LabelsAloneGiveCountsAndTheSavedLoss) {
  const Comparison found = compare_by({});
  EXPECT_EQ(found.outcomes->metric, "exact_match");
  EXPECT_THAT(counts_of(found), ElementsAre(1, 1, 0, 1));
  EXPECT_EQ(found.samples.ignored, 1);
  expect_values(found, "accuracy", 0.75, 0.75);
  expect_values(found, "exact_match", 2.0 / 3, 1.0 / 3);
  expect_values(found, "loss", 9.5 / 8, 1);
  EXPECT_EQ(metric_of(found, "exact_match").interval->method, "newcombe");
  EXPECT_EQ(metric_of(found, "accuracy").interval->method, "bootstrap");
  EXPECT_EQ(conclude(found).metric, "exact_match");
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_EQ(found.left_out[0].metric, "brier");
  EXPECT_THAT(found.left_out[0].reason, HasSubstr("missing in A and B; --save labels,prob"));
}

TEST_F(MultilabelRunsTest, ChangesAreOfScoredLabels) {
  const auto changes = std::get<LabelSetChanges>(compare_by({"accuracy"}).changes);
  EXPECT_EQ(changes.counts.right_to_wrong, 1);
  EXPECT_EQ(changes.counts.wrong_to_right, 0);
  EXPECT_EQ(changes.counts.wrong_to_other_wrong, 1);
  ASSERT_EQ(changes.first.size(), 2U);
  EXPECT_EQ(changes.first[1].index, 9);
  EXPECT_EQ(changes.first[1].scored, 3);
  EXPECT_THAT(changes.first[1].labels, ElementsAre(2));
  EXPECT_THAT(*changes.first[1].a.labels, ElementsAre(0));
  EXPECT_EQ(changes.first[1].a.right, 1);
  EXPECT_THAT(*changes.first[1].b.labels, IsEmpty());
  EXPECT_EQ(changes.first[1].b.right, 2);
}

// Rankings of the three scored samples, each by its definition in docs/metrics.md.
TEST_F(MultilabelRunsTest, ProbabilitiesAddBrierScoreAndRankings) {
  add_probabilities();
  const Comparison found = compare_by({"brier", "coverage_error", "ranking_loss", "loss"});
  expect_values(found, "brier", 1.171875 / 8, 1.421875 / 8);
  expect_values(found, "coverage_error", (2.0 + 1 + 2) / 3, (2.0 + 1 + 3) / 3);
  expect_values(found, "ranking_loss", (0.0 + 0 + 0.5) / 3, (0.0 + 0 + 1) / 3);
  expect_values(found, "loss", 9.5 / 8, 1);
  EXPECT_TRUE(metric_of(found, "ranking_loss").less_is_better);
}

TEST_F(MultilabelRunsTest, RankingsNeedProbabilities) {
  for (const auto* metric :
       {"coverage_error", "ranking_loss", "label_ranking_average_precision", "auroc_macro"}) {
    EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {metric}),
                HasSubstr("' needs the column 'probabilities' (or 'logits'), missing in A and B;"));
  }
  add_probabilities();
  a_.without("probabilities").attribute("outputs", "probabilities");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"brier"}),
              HasSubstr("needs the column 'probabilities', missing in A; --save"));
}

TEST_F(MultilabelRunsTest, OtherThresholdsNeedProbabilities) {
  b_.attribute("threshold", "0.25");
  EXPECT_THAT(
      refusal_of(a_, b_, ErrorKind::usage),
      HasSubstr(
          "were evaluated at thresholds 0.5 and 0.25, and there are no "
          "probabilities in A and B to compare both at one. Evaluate both with one --threshold"));
  add_probabilities();
  b_.column<std::uint8_t>("prediction", {1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0}, {3});
  EXPECT_THAT(counts_of(compare_by({"accuracy"})), ElementsAre(1, 1, 0, 1)) << "as at 0.5";
  a_.without("probabilities");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage),
              HasSubstr("and there are no probabilities in A"));
}

TEST_F(MultilabelRunsTest, ASampleWithoutPredictionIsWrong) {
  b_.column<std::uint8_t>("prediction", {1, 1, 1, 255, 255, 255, 1, 1, 1, 0, 0, 0}, {3})
      .column<float>("loss", {1, kNan, kNan, 1});
  const Comparison found = compare_by({"accuracy", "loss"});
  EXPECT_THAT(counts_of(found), ElementsAre(0, 2, 0, 1));
  expect_values(found, "accuracy", 6.0 / 8, 4.0 / 8);
  EXPECT_FALSE(metric_of(found, "loss").of_same_samples);
  const auto changes = std::get<LabelSetChanges>(found.changes);
  ASSERT_EQ(changes.first.size(), 3U);
  EXPECT_EQ(changes.first[1].index, 4);
  EXPECT_EQ(changes.first[1].b.labels, std::nullopt);
}

const std::vector<Refusal> kDamages{
    {"Label",
     [](RunFile& run) {
       run.column<std::uint8_t>("label", {1, 0, 1, 0, 1, 3, 2, 2, 2, 0, 0, 1}, {3});
     },
     "/label[1] = 3, expected 0, 1 or 2"},
    {"OtherLabel",
     [](RunFile& run) {
       run.column<std::uint8_t>("label", {1, 0, 1, 0, 1, 2, 2, 2, 2, 0, 1, 1}, {3});
     },
     "differ in the labels: /label[3][1] is 0 and 1"},
    {"LabelThatIsScored",
     [](RunFile& run) {
       run.column<std::uint8_t>("label", {1, 0, 1, 0, 1, 1, 2, 2, 2, 0, 0, 1}, {3});
     },
     "/label[1][2] is not scored and 1"},
    {"Prediction",
     [](RunFile& run) {
       run.column<std::uint8_t>("prediction", {1, 1, 1, 0, 7, 0, 1, 1, 1, 0, 0, 0}, {3});
     },
     "/prediction[1] = 7, expected 0, 1 or 255"},
    {"PredictionOfSomeLabels",
     [](RunFile& run) {
       run.column<std::uint8_t>("prediction", {1, 1, 1, 0, 255, 0, 1, 1, 1, 0, 0, 0}, {3});
     },
     "/prediction[1] = 1 labels without a prediction, expected 0 or 3"},
    {"FewerLabels",
     [](RunFile& run) {
       run.column<std::uint8_t>("prediction", {1, 1, 0, 1, 0, 1, 1, 1}, {2});
     },
     "/prediction is [4, 2], expected [4, 3]"},
    {"InfiniteLoss",
     [](RunFile& run) {
       run.column<float>("loss", {1, kInf, 1, 1});
     },
     "/loss[1] = inf, expected a finite number"},
    {"ProbabilityBelowZero",
     [](RunFile& run) { run.column("probabilities", std::vector<float>(12, -1), {3}); },
     "/probabilities[0] = -1, expected 0 to 1"},
    {"ProbabilitiesOfAnotherPrediction",
     [](RunFile& run) { run.column("probabilities", kProbabilitiesA, {3}); },
     "/probabilities[0] = 0.25, expected what fits the prediction at threshold 0.5"},
    {"LogitsOfAnotherPrediction",
     [](RunFile& run) { run.column("logits", std::vector<float>(12, 4), {3}); },
     "/logits[1] = a score of probability 0.98201"},
    {"NaNLogits", [](RunFile& run) { run.column("logits", std::vector<float>(12, kNan), {3}); },
     "/logits[0] = NaN or Inf, expected finite scores, for there is a prediction"},
};

class DamagedMultilabelRunTest : public MultilabelRunsTest,
                                 public testing::WithParamInterface<Refusal> {};

TEST_P(DamagedMultilabelRunTest, IsRefused) {
  GetParam().spoil(b_);
  EXPECT_THAT(refusal_of(a_, b_), HasSubstr(GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(Damages, DamagedMultilabelRunTest, testing::ValuesIn(kDamages), case_name);

TEST_F(MultilabelRunsTest, WithoutAnIgnoredValueAllLabelsAreOneOrZero) {
  a_.without("ignore_index");
  b_.without("ignore_index");
  EXPECT_THAT(refusal_of(a_, b_), HasSubstr("/label[1] = 2, expected 0 or 1."));
}

}  // namespace
}  // namespace tally::compare
