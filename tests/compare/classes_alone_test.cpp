// SPDX-License-Identifier: Apache-2.0
// Runs of which only predicted classes were saved, beside runs that have scores.
#include <gmock/gmock.h>

#include <cmath>
#include <utility>

#include "run_file.hpp"

namespace tally::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ClassesAloneTest : public RunFilesTest {
 protected:
  // Four samples of three classes, and one that is not scored.
  static RunFile run(const std::vector<std::int64_t>& predicted) {
    RunFile made("multiclass", 3);
    made.attribute("ignore_index", "-100").attribute("outputs", "classes");
    made.column<std::int64_t>("index", {10, 11, 12, 20, 21});
    made.column<std::int64_t>("label", {0, 1, 2, 1, -100});
    return made.column("prediction", predicted);
  }
  static RunFile with_scores(RunFile made) {
    return made.attribute("outputs", "logits")
        .column<std::int32_t>("label_rank", {0, 0, 1, 2, -1})
        .column<float>("loss", {0.25F, 0.5F, 1.5F, 2, kNan})
        .column<float>("confidence", {0.5F, 0.625F, 0.5F, 0.625F, 0.5F});
  }

  const RunFile a_ = run({0, 1, 0, 2, 1}), b_ = run({0, 2, 2, -1, 0});
};

TEST_F(ClassesAloneTest, AreComparedByWhatIsPredicted) {
  for (const auto& [a, lacks] : {std::pair(a_, "A and B"), std::pair(with_scores(a_), "B")}) {
    const auto found = compare(a, b_, {.replicates = 20});
    EXPECT_THAT(counts_of(found), ElementsAre(1, 1, 1, 1));
    EXPECT_DOUBLE_EQ(metric_of(found, "accuracy").difference.value(), 0);
    EXPECT_DOUBLE_EQ(metric_of(found, "recall_macro").b.value(), (1 + 0 + 1) / 3.0);
    std::vector<std::string> left_out;
    for (const auto& one : found.left_out) {
      left_out.push_back(one.metric);
      EXPECT_EQ(one.reason, std::string("needs scores, missing in ") + lacks +
                                "; an evaluation of the model with --save labels,logits has them");
    }
    EXPECT_THAT(left_out, ElementsAre("loss", "brier", "ece"));
    const auto changes = std::get<ClassChanges>(found.changes);
    EXPECT_EQ(changes.first.at(0).b.predicted, 2);
    EXPECT_TRUE(std::isnan(changes.first.at(0).a.confidence));
  }
}

TEST_F(ClassesAloneTest, HaveNoMetricsOfScores) {
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage, {"loss"}),
              HasSubstr("metric 'loss' needs scores"));
}

TEST_F(ClassesAloneTest, AreAllClassesOfTheDataSet) {
  EXPECT_THAT(refusal_of(a_, run({0, 2, 2, 3, 0})),
              HasSubstr("/prediction[3] = 3, expected -1..2"));
}

// Which class is the label of a wrong prediction is then not known.
TEST_F(ClassesAloneTest, OfSeveralRightClassesHaveTheirAccuracy) {
  auto a = a_, b = b_;
  a.attribute("label_sets", "best ranked");
  b.attribute("label_sets", "predicted, else the first");
  const auto found = compare(a, b, {.metrics = {"all"}, .replicates = 20});
  ASSERT_EQ(found.metrics.size(), 1U);
  EXPECT_DOUBLE_EQ(metric_of(found, "accuracy").a.value(), 0.5);
}

TEST_F(ClassesAloneTest, OfTwoClassesHaveNoConfidence) {
  const auto binary = [](const std::vector<std::int64_t>& predicted) {
    RunFile made("binary", 2);
    made.attribute("outputs", "classes").column<std::int64_t>("index", {0, 1, 2, 3});
    made.column<std::int64_t>("label", {0, 1, 1, 0});
    return made.column("prediction", predicted);
  };
  const auto found = compare(binary({0, 1, 0, 1}), binary({0, 1, 1, -1}), {.replicates = 20});
  EXPECT_DOUBLE_EQ(metric_of(found, "recall").a.value(), 0.5);
  EXPECT_DOUBLE_EQ(metric_of(found, "recall").b.value(), 1);
  const auto changes = std::get<ClassChanges>(found.changes);
  EXPECT_EQ(changes.first.at(0).index, 2);
  EXPECT_TRUE(std::isnan(changes.first.at(0).b.confidence));
}

TEST_F(ClassesAloneTest, OfLabelsAreComparedLabelByLabel) {
  const auto labels = [](const std::vector<std::uint8_t>& predicted) {
    RunFile made("multilabel", 2);
    made.attribute("outputs", "classes").column<std::int64_t>("index", {0, 1, 2});
    made.column<std::uint8_t>("label", {0, 1, 1, 1, 0, 0}, {2});
    return made.column("prediction", predicted, {2});
  };
  const auto found =
      compare(labels({0, 1, 1, 0, 0, 0}), labels({1, 1, 1, 1, 255, 255}), {.replicates = 20});
  EXPECT_DOUBLE_EQ(metric_of(found, "hamming").a.value(), 1.0 / 6);
  EXPECT_DOUBLE_EQ(metric_of(found, "hamming").b.value(), 3.0 / 6);
  EXPECT_DOUBLE_EQ(metric_of(found, "exact_match").b.value(), 1.0 / 3);
}

// Each run stays as it was predicted: of the scores of one, nothing is predicted again.
TEST_F(ClassesAloneTest, AreComparedWhateverTheThresholdWas) {
  const auto labels = [](const std::string& threshold, const std::string& outputs) {
    RunFile made("multilabel", 2);
    made.attribute("outputs", outputs).attribute("threshold", threshold);
    made.column<std::int64_t>("index", {0, 1});
    made.column<std::uint8_t>("label", {0, 1, 1, 1}, {2});
    made.column<float>("loss", {1, 2})
        .column<float>("probabilities", {0.4F, 0.8F, 0.2F, 0.7F}, {2});
    return made.column<std::uint8_t>("prediction", {1, 1, 0, 1}, {2});
  };
  const auto binary = [](const std::string& threshold, const std::string& outputs) {
    RunFile made("binary", 2);
    made.attribute("outputs", outputs).attribute("threshold", threshold);
    made.column<std::int64_t>("index", {0, 1, 2}).column<std::int64_t>("label", {0, 1, 1});
    made.column<float>("loss", {1, 2, 1}).column<float>("score", {0.4F, 0.8F, 0.2F});
    return made.column<std::int64_t>("prediction", {1, 1, 0});
  };
  const auto expect_alike = [&](const RunFile& a, const RunFile& b, const std::string& metric) {
    const auto found = compare(a, b, {.replicates = 20});
    EXPECT_THAT(found.notes, testing::Not(testing::Contains(HasSubstr("threshold"))));
    EXPECT_DOUBLE_EQ(metric_of(found, metric).a.value(), metric_of(found, metric).b.value());
    EXPECT_THAT(counts_of(found), ElementsAre(testing::_, 0, 0, testing::_));
  };
  expect_alike(labels("0.3", "logits"), labels("0.5", "classes"), "hamming");
  expect_alike(labels("0.5", "classes"), labels("0.3", "probabilities"), "hamming");
  expect_alike(binary("0.3", "logits"), binary("0.5", "classes"), "accuracy");
  expect_alike(binary("0.9", "classes"), binary("0.3", "logits"), "accuracy");
}

}  // namespace
}  // namespace tally::compare
