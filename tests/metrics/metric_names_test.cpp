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

TEST(MetricNames, SayWhichMetricWasMeant) {
  const auto expect_meant = [](const std::string& name, const std::string& meant,
                               const std::string& task) {
    EXPECT_EQ(message_of({.task = task, .num_classes = 2, .names = {name}}),
              "metric '" + name + "' is not known for the task " + task + ". Did you mean '" +
                  meant + "'?");
  };
  for (const auto& [name, meant] : std::map<std::string, std::string>{
           {"acuracy", "accuracy"},
           {"f1-macro", "f1_macro"},
           {"F1", "f1_macro"},
           {"auroc_micro", "auroc_macro"},
           {"stadard", "standard"},
           {"acuracy_top3", "accuracy_top3"},
           {"accuracy_top", "accuracy_top<k>"},
           {"acuracy_top03", "accuracy_top3"},
           {"f0.50-macro", "f0.5_macro"},
           {"auroc_max_fpr_0.1", "auroc_max_fpr_0.1_macro"},
           {"recall_at_precision_0.9_weighted", "recall_at_precision_0.9_macro"}}) {
    expect_meant(name, meant, "multiclass");
  }
  expect_meant("precision_at_recal_0.90", "precision_at_recall_0.9", "binary");
  expect_meant("spaerman", "spearman", "regression");
}

TEST(MetricNames, HaveOneSpellingOfANumber) {
  for (const auto& [name, right] :
       std::map<std::string, std::string>{{"precision_at_recall_0.90", "precision_at_recall_0.9"},
                                          {"recall_at_precision_.5", "recall_at_precision_0.5"},
                                          {"f1.0", "f1"},
                                          {"f02", "f2"}}) {
    EXPECT_EQ(message_of({.task = "binary", .num_classes = 2, .names = {name}}),
              "metric '" + name + "' is written '" + right + "'");
  }
  // Of more than 16 digits a number has no name.
  const std::string large = "f100000000000000000";
  EXPECT_THAT(message_of({.task = "binary", .num_classes = 2, .names = {large}}),
              HasSubstr("'" + large + "' is not known"));
}

TEST(MetricNames, AreRefusedWithAReason) {
  const std::string unknown = message_of({.num_classes = 10, .names = {"loss", "perplexity"}});
  EXPECT_THAT(unknown,
              HasSubstr("metric 'perplexity' is not known for the task multiclass. Known"));
  EXPECT_THAT(unknown, HasSubstr("accuracy, accuracy_top<k>, loss"));
  for (const char* name : {"accuracy_top0", "accuracy_top1.5", "accuracy_top<k>", "f-1_macro",
                           "f<beta>_macro", "accuracy_top", "finf_macro"}) {
    EXPECT_THAT(message_of({.num_classes = 10, .names = {name}}), HasSubstr("is not known"));
  }
  EXPECT_THAT(message_of({.num_classes = 5, .names = {"accuracy_top5"}}),
              HasSubstr("'accuracy_top5' needs more than 5 classes, the data set has 5"));
  EXPECT_THROW(MetricSet({.num_classes = 0}), Error);
  EXPECT_THROW(known_metrics("detection"), Error);
}

}  // namespace
}  // namespace tally::metrics
