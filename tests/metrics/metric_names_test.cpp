// SPDX-License-Identifier: Apache-2.0
// Names of metrics: what they stand for, and what is said of those that are not known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "refusals.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MetricNames, StandForSeveralMetrics) {
  const auto names = [](std::vector<std::string> asked) {
    return MetricSet({.num_classes = 10, .names = std::move(asked)}).options().names;
  };
  EXPECT_EQ(names({}), names({"standard"}));
  EXPECT_THAT(names({"f2_macro", "loss", "accuracy_top3", "f2_macro"}),
              ElementsAre("accuracy_top3", "loss", "f2_macro"));
  const auto all = names({"all", "accuracy_top2"});
  EXPECT_THAT(all,
              testing::IsSupersetOf({"accuracy_top2", "accuracy_top5", "hinge", "auroc_macro"}));
}

// What is said of an unknown name behind "… is not known for the task …".
std::string hint_for(const std::string& name, const std::string& task = "multiclass",
                     std::int64_t num_classes = 2) {
  const auto message = message_of({.task = task, .num_classes = num_classes, .names = {name}});
  const std::string before = "metric '" + name + "' is not known for the task " + task + ". ";
  EXPECT_THAT(message, testing::StartsWith(before));
  return message.substr(std::min(before.size(), message.size()));
}

TEST(MetricNames, SayWhichMetricWasMeant) {
  const auto meant = [](const std::string& name) {
    return "Did you mean '" + name + "'? 'tally evaluate --help' lists all.";
  };
  for (const auto& [name, near] : std::map<std::string, std::string>{
           {"acuracy", "accuracy"},
           {"f1-macro", "f1_macro"},
           {"F1", "f1_macro"},
           {"auroc_micro", "auroc_macro"},
           {"stadard", "standard"},
           {"acuracy_top1", "accuracy_top1"},
           {"acuracy_top01", "accuracy_top1"},
           {"f0.50-macro", "f0.5_macro"},
           {"auroc_max_fpr_0.1", "auroc_max_fpr_0.1_macro"},
           {"recall_at_precision_0.9_weighted", "recall_at_precision_0.9_macro"}}) {
    EXPECT_EQ(hint_for(name), meant(near));
  }
  EXPECT_EQ(hint_for("precision_at_recal_0.90", "binary"), meant("precision_at_recall_0.9"));
  EXPECT_EQ(hint_for("spaerman", "regression"), meant("spearman"));
}

TEST(MetricNames, OfATaskWithoutMetricsAreRefused) {
  EXPECT_EQ(message_of({.task = "predict", .names = {"accuracy"}}),
            "the task predict computes no metrics. Leave --metrics out.");
  EXPECT_TRUE(MetricSet({.task = "predict"}).options().names.empty());
}

TEST(MetricNames, AreListedWhereNoneIsNear) {
  for (const char* name : {"accuracy_macro", "nll", "acc5", "perplexity"}) {
    EXPECT_THAT(hint_for(name), testing::StartsWith("Known: accuracy, accuracy_top<k>, loss"));
  }
  for (const char* name : {"nll", "f0", "precision_at_recall_1e-3"}) {
    EXPECT_THAT(hint_for(name, "binary"), testing::StartsWith("Known: accuracy, "));
  }
}

TEST(MetricNames, OfAFormSayWhatIsWantedInIt) {
  for (const char* name : {"accuracy_top", "accuracy_top<k>", "accuracy_top0", "accuracy_top1.5"}) {
    EXPECT_EQ(hint_for(name), "'accuracy_top<k>' has a whole number from 1 in place of <k>.");
  }
  EXPECT_EQ(hint_for("f<beta>_macro"), "'f<beta>_macro' has a number above 0 in place of <beta>.");
  // What the data set has no use for is not recommended.
  EXPECT_THAT(hint_for("acuracy_top5", "multiclass", 5), testing::Not(HasSubstr("accuracy_top5")));
  EXPECT_THAT(
      message_of({.task = "binary", .num_classes = 2, .names = {"precision_at_recall_1.50"}}),
      HasSubstr("'precision_at_recall_1.5' has 1.5, expected a share"));
}

TEST(MetricNames, HaveOneSpellingOfANumber) {
  for (const auto& [name, right] :
       std::map<std::string, std::string>{{"precision_at_recall_0.90", "precision_at_recall_0.9"},
                                          {"recall_at_precision_.5", "recall_at_precision_0.5"},
                                          {"f1.0", "f1"},
                                          {"f02", "f2"},
                                          {"f100000000000000001", "f100000000000000000"}}) {
    EXPECT_EQ(message_of({.task = "binary", .num_classes = 2, .names = {name}}),
              "metric '" + name + "' is written '" + right + "'");
  }
}

TEST(MetricNames, HaveNumbersOfAnySize) {
  const std::vector<std::string> names{"auroc_max_fpr_0.00001", "f100000000000000000"};
  const MetricSet set({.task = "binary", .num_classes = 2, .names = names});
  EXPECT_THAT(set.options().names, testing::UnorderedElementsAreArray(names));
}

TEST(MetricNames, AreRefusedWithAReason) {
  EXPECT_THAT(message_of({.num_classes = 10, .names = {"loss", "finf_macro"}}),
              HasSubstr("metric 'finf_macro' is not known for the task multiclass"));
  EXPECT_THAT(message_of({.num_classes = 5, .names = {"accuracy_top5"}}),
              HasSubstr("'accuracy_top5' needs more than 5 classes, the data set has 5"));
  EXPECT_THROW(MetricSet({.num_classes = 0}), Error);
  EXPECT_THROW(known_metrics("ranking"), Error);
}

}  // namespace
}  // namespace tally::metrics
