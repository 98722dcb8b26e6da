// SPDX-License-Identifier: Apache-2.0
// Two multiclass runs read from their files: figures by hand, what few columns give, damaged rows.
#include <gmock/gmock.h>

#include <tally/metrics/multiclass_statistics.hpp>

#include "run_file.hpp"

namespace tally::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Floats = std::vector<float>;

const std::vector<float> kProbabilitiesA{0.5F,  0.25F,  0.25F,   //
                                         0.25F, 0.625F, 0.125F,  //
                                         0.5F,  0.125F, 0.375F,  //
                                         0.25F, 0.125F, 0.625F,  //
                                         0.25F, 0.5F,   0.25F};
const std::vector<float> kProbabilitiesB{0.625F, 0.25F,  0.125F,  //
                                         0.125F, 0.375F, 0.5F,    //
                                         0.125F, 0.125F, 0.75F,   //
                                         0.125F, 0.25F,  0.625F,  //
                                         0.5F,   0.25F,  0.25F};

// Five samples of three classes; the last one is not scored. The losses are not those of the
// probabilities, so that it shows where a loss is from.
class ClassRunsTest : public RunFilesTest {
 protected:
  ClassRunsTest() {
    for (RunFile* run : {&a_, &b_}) {
      run->attribute("ignore_index", "-100");
      run->column<std::int64_t>("index", {10, 11, 12, 20, 21});
      run->column<std::int64_t>("label", {0, 1, 2, 1, -100});
    }
    a_.column<std::int64_t>("prediction", {0, 1, 0, 2, 1})
        .column<std::int32_t>("label_rank", {0, 0, 1, 2, -1})
        .column<float>("loss", {0.25F, 0.5F, 1.5F, 2, kNan})
        .column<float>("confidence", {0.5F, 0.625F, 0.5F, 0.625F, 0.5F});
    b_.column<std::int64_t>("prediction", {0, 2, 2, 2, 0})
        .column<std::int32_t>("label_rank", {0, 1, 0, 1, -1})
        .column<float>("loss", {0.5F, 1, 0.25F, 2.25F, kNan})
        .column<float>("confidence", {0.625F, 0.5F, 0.75F, 0.625F, 0.5F});
  }
  void add_probabilities(const std::string& outputs) {
    a_.column("probabilities", kProbabilitiesA, {3}).attribute("outputs", outputs);
    b_.column("probabilities", kProbabilitiesB, {3}).attribute("outputs", outputs);
  }
  Comparison compare_by(const std::vector<std::string>& names) {
    return compare(a_, b_, {.metrics = names, .replicates = 20});
  }

  RunFile a_{"multiclass", 3}, b_{"multiclass", 3};
};

void expect_values(const Comparison& comparison, const std::string& name, double a, double b) {
  const MetricDifference& metric = metric_of(comparison, name);
  EXPECT_DOUBLE_EQ(metric.a.value(), a) << name;
  EXPECT_DOUBLE_EQ(metric.b.value(), b) << name;
  EXPECT_DOUBLE_EQ(metric.difference.value(), b - a) << name;
}

TEST_F(ClassRunsTest, LabelsAloneGiveCountsAndTheSavedLoss) {
  const Comparison found = compare_by({});
  EXPECT_EQ(found.task, "multiclass");
  EXPECT_EQ(found.samples.path, "val.h5");
  EXPECT_EQ(found.samples.identity, "0123456789abcdef0123");
  EXPECT_EQ(found.definitions, "torchmetrics");
  EXPECT_EQ(found.samples.count, 5);
  EXPECT_EQ(found.samples.ignored, 1);
  EXPECT_EQ(found.samples.scored(), 4);
  EXPECT_EQ(found.outcomes->metric, "accuracy");
  EXPECT_THAT(counts_of(found), ElementsAre(1, 1, 1, 1));
  expect_values(found, "accuracy", 0.5, 0.5);
  EXPECT_EQ(metric_of(found, "accuracy").interval->method, "newcombe");
  expect_values(found, "loss", 4.25 / 4, 4.0 / 4);
  EXPECT_TRUE(metric_of(found, "loss").less_is_better);
  EXPECT_EQ(metric_of(found, "loss").interval->method, "bootstrap");
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_EQ(found.left_out[0].metric, "brier");
  EXPECT_EQ(found.left_out[0].reason,
            "needs the column 'probabilities' (or 'logits'), missing in A and B; "
            "--save labels,probabilities gives it");
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(ClassRunsTest, ChangedSamplesHaveTheirGlobalIndex) {
  const auto changes = std::get<ClassChanges>(compare_by({"accuracy_top2"}).changes);
  EXPECT_EQ(changes.counts.right_to_wrong, 1);
  EXPECT_EQ(changes.counts.wrong_to_right, 1);
  EXPECT_EQ(changes.counts.wrong_to_other_wrong, 0) << "an ignored sample is no change";
  ASSERT_EQ(changes.first.size(), 2U);
  EXPECT_EQ(changes.first[0].index, 11);
  EXPECT_EQ(changes.first[0].label, 1);
  EXPECT_EQ(changes.first[0].a.predicted, 1);
  EXPECT_EQ(changes.first[0].a.confidence, 0.625);
  EXPECT_EQ(changes.first[0].b.predicted, 2);
  EXPECT_EQ(changes.first[1].index, 12);
}

// The ranks are 0 0 1 2 in A and 0 1 0 1 in B.
TEST_F(ClassRunsTest, RanksGiveTopK) {
  const Comparison found = compare_by({"accuracy_top2"});
  expect_values(found, "accuracy_top2", 0.75, 1);
  EXPECT_EQ(found.metrics.size(), 1U);
  EXPECT_EQ(conclude(found).metric, "accuracy_top2") << "accuracy is not compared";
}

// Each by its definition in docs/metrics.md. Of class 1 in A, say, the positives have 0.625 and
// 0.125, the negatives 0.25 and 0.125: of four pairs two and a half are in order.
TEST_F(ClassRunsTest, ProbabilitiesAddScoresAndCurvesButNotTheLoss) {
  add_probabilities("logits");
  const Comparison found = compare_by({"brier", "hinge", "auroc_macro", "loss"});
  expect_values(found, "brier", 2.46875 / 4, 1.9375 / 4);
  expect_values(found, "hinge", 4.0 / 4, 3.5 / 4);
  expect_values(found, "auroc_macro", (2.5 / 3 + 2.5 / 4 + 2.0 / 3) / 3, (1 + 3.5 / 4 + 1) / 3);
  expect_values(found, "loss", 4.25 / 4, 4.0 / 4);
}

TEST_F(ClassRunsTest, ProbabilitiesThatTheModelReturnedGiveTheLoss) {
  add_probabilities("probabilities");
  const Comparison found = compare_by({"loss", "brier"});
  const auto loss = [](double product) { return -std::log(product) / 4; };
  EXPECT_NEAR(*metric_of(found, "loss").a, loss(0.5 * 0.625 * 0.375 * 0.125), 1e-12);
  EXPECT_NEAR(*metric_of(found, "loss").b, loss(0.625 * 0.375 * 0.75 * 0.25), 1e-12);
  expect_values(found, "brier", 2.46875 / 4, 1.9375 / 4);
}

// Where one file has logits and the other has probabilities, both are measured by the lesser.
TEST_F(ClassRunsTest, WhatWasSavedMakesNoDifference) {
  std::vector<float> logits, probabilities(kProbabilitiesA.size());
  for (const float probability : kProbabilitiesA) logits.push_back(std::log(probability) + 3);
  for (std::size_t row = 0; row < logits.size(); row += 3) {
    metrics::class_probabilities(std::span(logits).subspan(row, 3), metrics::OutputKind::logits,
                                 std::span(probabilities).subspan(row, 3));
  }
  b_ = a_;
  a_.column("logits", logits, {3});
  b_.column("probabilities", probabilities, {3});
  const Comparison found = compare_by({"all"});
  EXPECT_THAT(found.left_out, IsEmpty());
  for (const MetricDifference& metric : found.metrics) EXPECT_EQ(metric.difference, 0.0);
  expect_values(found, "loss", 4.25 / 4, 4.25 / 4);
  EXPECT_NEAR(*metric_of(found, "brier").a, 2.46875 / 4, 1e-6);
  EXPECT_THAT(conclude(found).sentence, HasSubstr("A and B predict the same for every sample"));
}

TEST_F(ClassRunsTest, HingeOfScikitLearnNeedsWhatTheModelReturned) {
  add_probabilities("logits");
  for (RunFile* run : {&a_, &b_}) run->attribute("definitions", "sklearn");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"hinge"}),
              HasSubstr("metric 'hinge' needs the column 'logits', missing in A and B; "
                        "--save labels,logits gives it. Leave it out of --metrics"));
  add_probabilities("probabilities");
  expect_values(compare_by({"hinge"}), "hinge", 4.0 / 4, 3.5 / 4);
  a_.without("probabilities");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"hinge"}),
              HasSubstr("needs the column 'probabilities', missing in A;"));
}

TEST_F(ClassRunsTest, LossesOfOtherRulesAreNotCompared) {
  b_.attribute("label_smoothing", "0.125");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"loss"}),
              HasSubstr("'loss' has another --label-smoothing in A (0) than in B (0.125)"));
  b_.attribute("class_weights_sha256", "12");
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"loss"}),
              HasSubstr("'loss' was weighted by --class-weights in B, which are not saved"));
  const Comparison found = compare_by({"accuracy", "standard"});
  EXPECT_EQ(found.left_out.size(), 2U);
  EXPECT_EQ(found.metrics[0].name, "accuracy");
}

TEST_F(ClassRunsTest, CalibrationIsOfTheBinsOfA) {
  b_.attribute("calibration_bins", "2");
  const std::string note = "B was evaluated with 2 calibration bins; both are compared with A's 15";
  EXPECT_THAT(compare_by({"ece"}).notes, ElementsAre(note));
  EXPECT_THAT(compare_by({"accuracy"}).notes, IsEmpty()) << "which has no bins";
}

// It is wrong where samples are right or wrong, and nowhere in means over samples.
TEST_F(ClassRunsTest, ASampleWithoutPredictionIsWrong) {
  b_.column<std::int64_t>("prediction", {-1, 2, 2, 2, 0})
      .column<std::int32_t>("label_rank", {-1, 1, 0, 1, -1})
      .column<float>("loss", {kNan, 1, 0.25F, 2.25F, kNan})
      .column<float>("confidence", {kNan, 0.5F, 0.75F, 0.625F, 0.5F});
  const Comparison found = compare_by({"accuracy", "loss"});
  EXPECT_THAT(counts_of(found), ElementsAre(0, 2, 1, 1));
  expect_values(found, "accuracy", 0.5, 0.25);
  expect_values(found, "loss", 4.25 / 4, 3.5 / 3);
  EXPECT_TRUE(metric_of(found, "accuracy").of_same_samples);
  EXPECT_FALSE(metric_of(found, "loss").of_same_samples);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("outputs of 0 samples in A and 1 in B are NaN")));
  EXPECT_EQ(std::get<ClassChanges>(found.changes).first[0].b.predicted, -1);
  EXPECT_THAT(conclude(compare_by({"loss"})).sentence,
              HasSubstr("No difference can be told: loss 1.0625 -> 1.1667 leave out other"));
}

TEST_F(ClassRunsTest, ResultsWithoutSamplesHaveNoFigures) {
  for (RunFile* run : {&a_, &b_}) {
    run->column<std::int64_t>("index", {}).column<std::int64_t>("label", {});
    run->column<std::int64_t>("prediction", {}).column<std::int32_t>("label_rank", {});
    run->column<float>("loss", {}).column<float>("confidence", {});
  }
  const Comparison found = compare_by({});
  EXPECT_EQ(found.samples.count, 0);
  EXPECT_EQ(metric_of(found, "accuracy").difference, std::nullopt);
  EXPECT_EQ(conclude(found).sentence, "No difference can be told: accuracy is undefined.");
}

const std::vector<Refusal> kDamages{
    {"NoSuchLabel",
     [](RunFile& run) {
       run.column<std::int64_t>("label", {0, -3, 2, 1, -100});
     },
     "/label[1] = -3, expected 0..2. The file is damaged: evaluate again."},
    {"NoSuchClass",
     [](RunFile& run) {
       run.column<std::int64_t>("prediction", {0, 3, 2, 2, 0});
     },
     "/prediction[1] = 3, expected -1..2"},
    {"NoSuchRank",
     [](RunFile& run) {
       run.column<std::int32_t>("label_rank", {0, 3, 0, 1, -1});
     },
     "/label_rank[1] = 3, expected 0..2"},
    {"RankOfAnIgnoredSample",
     [](RunFile& run) {
       run.column<std::int32_t>("label_rank", {0, 1, 0, 1, 0});
     },
     "/label_rank[4] = 0, expected -1"},
    {"RankWithoutPrediction",
     [](RunFile& run) {
       run.column<std::int64_t>("prediction", {0, -1, 2, 2, 0});
     },
     "/label_rank[1] = 1, expected -1"},
    {"RankOfARightSample",
     [](RunFile& run) {
       run.column<std::int32_t>("label_rank", {1, 1, 0, 1, -1});
     },
     "/label_rank[0] = 1, expected 0 where the label is predicted"},
    {"RankOfAWrongSample",
     [](RunFile& run) {
       run.column<std::int32_t>("label_rank", {0, 0, 0, 1, -1});
     },
     "/label_rank[1] = 0, expected more than 0 where the label is not predicted"},
    {"NaNLoss", [](RunFile& run) { run.column("loss", Floats(5, kNan)); },
     "/loss[0] = nan, expected a finite number"},
    {"InfiniteLoss",
     [](RunFile& run) {
       run.column<float>("loss", {0.5F, 1, 0, -kInf, 0});
     },
     "/loss[3] = -inf, expected a finite number"},
    {"NaNConfidence", [](RunFile& run) { run.column("confidence", Floats(5, kNan)); },
     "/confidence[0] = nan, expected a probability"},
    {"NegativeConfidence",
     [](RunFile& run) {
       run.column("confidence", Floats{1.0078125F, 1, 0, 0, -0.5F});
     },
     "/confidence[4] = -0.5, expected a probability"},
    {"ConfidenceAboveOne", [](RunFile& run) { run.column("confidence", Floats(5, 1.015625F)); },
     "/confidence[0] = 1.015625, expected a probability"},
    {"OtherLabel",
     [](RunFile& run) {
       run.column<std::int64_t>("label", {0, 1, 2, 0, -100});
     },
     "differ in the labels: /label[3] is 1 and 0. Evaluate both models on one data set."},
    {"OtherIgnoredIndex", [](RunFile& run) { run.attribute("ignore_index", "1"); },
     "differ in num_classes or ignore_index"},
    {"NoLoss", [](RunFile& run) { run.without("loss"); },
     "has no column 'loss'. Evaluate again with --save labels."},
    {"WideLoss",
     [](RunFile& run) {
       run.column<double>("loss", {0, 0, 0, 0, 0});
     },
     "float64"},
    {"ProbabilityAboveOne",
     [](RunFile& run) { run.column("probabilities", std::vector<float>(15, 1.5F), {3}); },
     "/probabilities[0] = values out of range, expected probabilities"},
    {"ProbabilitiesOfAnotherPrediction",
     [](RunFile& run) { run.column("probabilities", kProbabilitiesA, {3}); },
     "/probabilities[1] = scores of prediction 1, expected those of prediction 2"},
    {"ProbabilitiesThatAreNaN",
     [](RunFile& run) { run.column("probabilities", std::vector<float>(15, kNan), {3}); },
     "/probabilities[0] = NaN or Inf, expected what fits prediction 0"},
};

class DamagedClassRunTest : public ClassRunsTest, public testing::WithParamInterface<Refusal> {};

TEST_P(DamagedClassRunTest, IsRefused) {
  add_probabilities("probabilities");
  GetParam().spoil(b_);
  EXPECT_THAT(refusal_of(a_, b_), HasSubstr(GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(Damages, DamagedClassRunTest, testing::ValuesIn(kDamages), case_name);

}  // namespace
}  // namespace tally::compare
