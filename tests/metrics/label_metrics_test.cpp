// SPDX-License-Identifier: Apache-2.0
// The metrics of the tasks binary and multilabel, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "labels.hpp"
#include "refusals.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MetricOptions binary() { return {.task = "binary", .num_classes = 2, .names = {"all"}}; }

MetricOptions multilabel(std::int64_t num_labels) {
  return {.task = "multilabel", .num_classes = num_labels, .ignore_index = 255, .names = {"all"}};
}

double value(const Results& results, std::string_view metric) {
  const MetricValue* found = results.find(metric);
  EXPECT_NE(found, nullptr) << metric;
  return found == nullptr ? -1 : found->value.value_or(-2);
}

std::vector<std::string> names_of(MetricOptions options) {
  options.names = {};
  return MetricSet(options).options().names;
}

// tp 2, fn 1, fp 1, tn 3.
const LabelSamples kSeven{1, {1, 1, -1, 1, -1, -1, -1}, {1, 1, 1, 0, 0, 0, 0}, {}};

TEST(Binary, ByHand) {
  const Results results = score(binary(), kSeven);

  EXPECT_DOUBLE_EQ(value(results, "accuracy"), 5.0 / 7);
  EXPECT_DOUBLE_EQ(value(results, "balanced_accuracy"), (2.0 / 3 + 3.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(value(results, "precision"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(value(results, "recall"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(value(results, "specificity"), 3.0 / 4);
  EXPECT_DOUBLE_EQ(value(results, "f1"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(value(results, "jaccard"), 2.0 / 4);
  EXPECT_DOUBLE_EQ(value(results, "mcc"), (2 * 3 - 1 * 1) / std::sqrt(3 * 3 * 4 * 4));
  EXPECT_THAT(results.confusion, ElementsAre(3, 1, 1, 2));
  EXPECT_EQ(results.per_class[0].support, 4);
  EXPECT_EQ(results.per_class[0].predicted, 4);
  EXPECT_EQ(results.per_class[0].correct, 3);
  EXPECT_EQ(results.per_class[1].value("recall"), 2.0 / 3);
  EXPECT_EQ(results.counts.labels_scored, 7);
}

TEST(Binary, TheThresholdIsAFloat32) {
  LabelSamples samples{1, {0.1f, 0.3f, 0.7f}, {1, 1, 1}, {}};
  MetricOptions options = binary();
  for (const auto& [threshold, above] :
       {std::pair{0.05, 3}, std::pair{0.1, 2}, std::pair{0.3, 1}, std::pair{0.7, 0}}) {
    options.threshold = threshold;
    EXPECT_DOUBLE_EQ(value(score(options, samples, OutputKind::probabilities), "recall"),
                     above / 3.0)
        << threshold;
  }
}

TEST(Binary, WhatIsNotDefinedIsZeroAsLongAsThereAreSamples) {
  const LabelSamples negatives{1, {-1, -2}, {0, 0}, {}};
  const Results results = score(binary(), negatives);
  for (const char* metric : {"precision", "recall", "f1", "jaccard", "mcc"}) {
    EXPECT_EQ(value(results, metric), 0.0) << metric;
  }
  EXPECT_EQ(value(results, "balanced_accuracy"), 1.0);
  EXPECT_EQ(results.find("cohen_kappa")->value, std::nullopt);
  EXPECT_EQ(results.find("precision")->interval, std::nullopt);
  EXPECT_EQ(results.per_class[1].value("precision"), std::nullopt);
}

TEST(Binary, SamplesWithoutScoresAreWrong) {
  LabelSamples samples = kSeven;
  samples.scores[0] = samples.scores[6] = std::numeric_limits<float>::quiet_NaN();
  const Results results = score(binary(), samples);

  EXPECT_EQ(results.counts.not_finite, 2);
  EXPECT_EQ(results.counts.labels_scored, 7);
  EXPECT_EQ(results.counts.labels_with_scores, 5);
  EXPECT_DOUBLE_EQ(value(results, "accuracy"), 3.0 / 7);
  EXPECT_DOUBLE_EQ(value(results, "recall"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(value(results, "specificity"), 2.0 / 4);
  EXPECT_DOUBLE_EQ(value(results, "precision"), 1.0 / 2) << "they are predicted as nothing";
  EXPECT_DOUBLE_EQ(value(results, "f1"), 2.0 / (3 + 2));
  EXPECT_THAT(results.confusion, ElementsAre(2, 1, 1, 1));
  EXPECT_EQ(results.per_class[0].predicted, 3);
  EXPECT_TRUE(std::isfinite(value(results, "loss")));
  EXPECT_TRUE(std::isfinite(value(results, "ece")));
}

TEST(Binary, CalibrationIsOfClassOne) {
  MetricOptions options = binary();
  options.calibration_bins = 2;
  const LabelSamples samples{1, {0.25f, 0.25f, 0.55f, 0.75f, 0.75f}, {0, 0, 1, 1, 1}, {}};
  const Results results = score(options, samples, OutputKind::probabilities);
  EXPECT_NEAR(value(results, "ece"), 0.29, 1e-7);
  EXPECT_NEAR(value(results, "calibration_error_l2"), 0.2918, 1e-4);
  EXPECT_NEAR(value(results, "calibration_error_max"), 0.3167, 1e-4);
  EXPECT_EQ(results.reliability.at(1).correct, 3);
}

TEST(Binary, SharesHaveWilsonsInterval) {
  const Results results = score(binary(), kSeven);
  for (const char* metric : {"accuracy", "precision", "recall", "specificity", "jaccard"}) {
    EXPECT_TRUE(results.find(metric)->interval) << metric;
  }
  for (const char* metric : {"f1", "balanced_accuracy", "loss", "mcc"}) {
    EXPECT_FALSE(results.find(metric)->interval) << metric;
  }
}

TEST(Binary, TheStandardSet) {
  EXPECT_THAT(
      names_of(binary()),
      ElementsAre("accuracy", "balanced_accuracy", "precision", "recall", "f1", "specificity",
                  "jaccard", "loss", "brier", "cohen_kappa", "mcc", "ece", "confusion_matrix"));
}

TEST(Binary, RefusesWhatItDoesNotKnow) {
  const auto message = [](const std::string& name) {
    return message_of({.task = "binary", .num_classes = 2, .names = {name}});
  };
  EXPECT_THAT(message("auroc_max_fpr_1.5"),
              HasSubstr("'auroc_max_fpr_1.5' has 1.5, expected a share of at most 1"));
  EXPECT_THAT(message("precision_at_recall_2"), HasSubstr("expected a share of at most 1"));
  EXPECT_THAT(message("f1_macro"), HasSubstr("not known for the task binary"));
  EXPECT_THAT(message("cohen_kappa_linear"), HasSubstr("not known"));
  EXPECT_THAT(message("finf"), HasSubstr("not known"));
  for (const char* form : {"auroc_max_fpr_0.1", "recall_at_precision_1", "f2"}) {
    EXPECT_THAT(message(form), HasSubstr("nothing was refused"));
  }
  EXPECT_THAT(message_of({.task = "binary", .num_classes = 2, .label_smoothing = 0.1}),
              HasSubstr("no label smoothing"));
  EXPECT_THAT(message_of({.task = "multilabel", .num_classes = 2, .class_weights = {1, 2}}),
              HasSubstr("no class weights"));
  for (const char* task : {"multiclass", "regression"}) {
    EXPECT_THAT(message_of({.task = task, .num_classes = 2, .threshold = 0.4}),
                HasSubstr(std::string(task) + " knows no threshold"));
  }
}

TEST(CurvesOfClasses, HaveNumbersThatAreShares) {
  for (const std::string task : {"multiclass", "multilabel"}) {
    const auto message = [&](const std::string& name) {
      return message_of({.task = task, .num_classes = 3, .names = {name}});
    };
    for (const char* form : {"precision_at_recall_0.5_macro", "recall_at_precision_1_macro",
                             "auroc_max_fpr_0.1_weighted"}) {
      EXPECT_THAT(message(form), HasSubstr("nothing was refused")) << task;
    }
    EXPECT_THAT(
        message("recall_at_precision_1.5_macro"),
        HasSubstr("'recall_at_precision_1.5_macro' has 1.5, expected a share of at most 1"));
    for (const char* unknown : {"precision_at_recall_0.5", "precision_at_recall_0.5_weighted"}) {
      EXPECT_THAT(message(unknown), HasSubstr("not known")) << task;
    }
  }
}

// Label 0: tp 1, fn 1, tn 1. Label 1: fp 1, tn 1, and one that is not scored. Label 2: never set
// nor predicted.
const LabelSamples kThree{3, {1, 1, -1, -1, -1, -1, -1, 1, -1}, {}, {1, 0, 0, 1, 0, 0, 0, 255, 0}};

TEST(Multilabel, ByHand) {
  const Results results = score(multilabel(3), kThree);

  EXPECT_EQ(results.counts.scored, 3);
  EXPECT_EQ(results.counts.labels_scored, 8);
  EXPECT_DOUBLE_EQ(value(results, "accuracy"), 6.0 / 8);
  EXPECT_DOUBLE_EQ(value(results, "hamming"), 2.0 / 8);
  EXPECT_DOUBLE_EQ(value(results, "exact_match"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(value(results, "precision_macro"), 1.0 / 3) << "no label is left out";
  EXPECT_DOUBLE_EQ(value(results, "precision_micro"), 1.0 / 2);
  EXPECT_DOUBLE_EQ(value(results, "recall_weighted"), 0.5);
  EXPECT_DOUBLE_EQ(value(results, "f1_micro"), 2.0 / (2 + 2));
  EXPECT_DOUBLE_EQ(value(results, "specificity_macro"), (1.0 + 0.5 + 1.0) / 3);
  EXPECT_DOUBLE_EQ(value(results, "jaccard_macro"), 0.5 / 3);
  EXPECT_DOUBLE_EQ(value(results, "mcc"), (1 * 5 - 1 * 1) / std::sqrt(2 * 2 * 6 * 6));
  EXPECT_EQ(results.per_class[1].predicted, 1);
  EXPECT_EQ(results.per_class[2].value("f1"), std::nullopt);
  EXPECT_TRUE(results.per_class[0].values.at(0).interval);
  EXPECT_TRUE(results.find("exact_match")->interval);
  EXPECT_FALSE(results.find("accuracy")->interval) << "a sample's labels are not independent";
}

TEST(Multilabel, ASampleWithoutScoredLabelsIsIgnored) {
  LabelSamples samples = kThree;
  samples.targets = {1, 0, 0, 255, 255, 255, 0, 255, 0};
  const Results results = score(multilabel(3), samples);
  EXPECT_EQ(results.counts.ignored, 1);
  EXPECT_EQ(results.counts.scored, 2);
  EXPECT_DOUBLE_EQ(value(results, "exact_match"), 1.0 / 2);
}

TEST(Multilabel, SamplesWithoutScoresAreWrong) {
  LabelSamples samples = kThree;
  samples.scores[2] = std::numeric_limits<float>::infinity();
  const Results results = score(multilabel(3), samples);
  EXPECT_EQ(results.counts.without_scores, 1);
  EXPECT_EQ(results.counts.labels_with_scores, 5);
  EXPECT_DOUBLE_EQ(value(results, "accuracy"), 4.0 / 8);
  EXPECT_DOUBLE_EQ(value(results, "exact_match"), 1.0 / 3);
  EXPECT_EQ(results.per_class[0].support, 2);
  EXPECT_EQ(results.per_class[0].correct, 0);
  EXPECT_DOUBLE_EQ(value(results, "coverage_error"), (3.0 + 0) / 2) << "of those with scores";
}

TEST(Multilabel, TheStandardSet) {
  EXPECT_THAT(names_of(multilabel(3)),
              ElementsAre("accuracy", "hamming", "precision_macro", "precision_micro",
                          "precision_weighted", "recall_macro", "recall_micro", "recall_weighted",
                          "f1_macro", "f1_micro", "f1_weighted", "specificity_macro",
                          "jaccard_macro", "mcc", "exact_match", "loss", "brier"));
}

}  // namespace
}  // namespace tally::metrics
