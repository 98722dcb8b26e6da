// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/metric_set.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include <tally/base/error.hpp>
#include <tally/base/index_hash.hpp>

#include "refusals.hpp"
#include "rows.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One-hot scores: `predictions` as the model would make them.
Samples predicted(std::int64_t num_classes, const std::vector<std::int64_t>& predictions,
                  std::vector<std::int64_t> labels) {
  Samples samples{num_classes, {}, std::move(labels)};
  for (const std::int64_t prediction : predictions) {
    for (std::int64_t c = 0; c < num_classes; ++c) {
      samples.scores.push_back(c == prediction ? 1.0f : 0.0f);
    }
  }
  return samples;
}

Results score(const MetricOptions& options, Samples samples, std::int64_t first_index = 0) {
  const MetricSet metrics(options);
  exact::State state(metrics.layout());
  RowStatistics stats;
  compute_multiclass_statistics(
      contiguous_view(samples.scores.data(), DType::f32, {samples.size(), samples.num_classes}),
      first_index, samples.labels, rules_with(options.ignore_index, metrics), stats);
  metrics.update(stats.rows, state);
  return metrics.finalize(state);
}

std::map<std::string, double> values(const Results& results) {
  std::map<std::string, double> found;
  for (const MetricValue& metric : results.metrics) found[metric.name] = metric.value.value();
  return found;
}

// Classes 0..3: 3 is absent, 2 is predicted but never true.
//   true 0: predicted 0 0 1     true 1: predicted 1 2
TEST(MetricSet, ByHand) {
  const Results results = score({.num_classes = 4}, predicted(4, {0, 0, 1, 1, 2}, {0, 0, 0, 1, 1}));

  const auto found = values(results);
  EXPECT_DOUBLE_EQ(found.at("accuracy"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("precision_macro"), (1.0 + 0.5 + 0.0) / 3);
  EXPECT_DOUBLE_EQ(found.at("recall_macro"), (2.0 / 3 + 0.5 + 0.0) / 3);
  EXPECT_DOUBLE_EQ(found.at("f1_macro"), (4.0 / 5 + 2.0 / 4 + 0.0) / 3);
  EXPECT_DOUBLE_EQ(found.at("precision_micro"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("recall_micro"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("f1_micro"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("precision_weighted"), (3 * 1.0 + 2 * 0.5) / 5);
  EXPECT_DOUBLE_EQ(found.at("recall_weighted"), (3 * (2.0 / 3) + 2 * 0.5) / 5);
  EXPECT_DOUBLE_EQ(found.at("f1_weighted"), (3 * 0.8 + 2 * 0.5) / 5);
  EXPECT_FALSE(found.contains("accuracy_top5")) << "4 classes";
  EXPECT_THAT(results.confusion, ElementsAre(2, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0));

  const ClassMetrics& never_true = results.per_class[2];
  EXPECT_EQ(never_true.value("precision"), 0.0);
  EXPECT_EQ(never_true.value("recall"), std::nullopt);
  EXPECT_EQ(never_true.value("f1"), 0.0);
  const ClassMetrics& absent = results.per_class[3];
  EXPECT_FALSE(absent.value("precision") || absent.value("recall") || absent.value("f1"));
}

TEST(MetricSet, IgnoredSamplesAreCoveredButNotScored) {
  const Results results =
      score({.num_classes = 3, .ignore_index = 1}, predicted(3, {0, 1, 1, 2}, {0, 1, 2, 2}));

  EXPECT_EQ(results.units.count, 4);
  EXPECT_EQ(results.counts.scored, 3);
  EXPECT_EQ(results.counts.ignored, 1);
  EXPECT_DOUBLE_EQ(values(results).at("accuracy"), 2.0 / 3);
  EXPECT_EQ(results.per_class[1].support, 0);
  EXPECT_EQ(results.per_class[1].predicted, 1);
}

TEST(MetricSet, CoverageIsOfGlobalIndices) {
  const std::int64_t first = (std::int64_t{1} << 62) + 12345;
  const Results results = score({.num_classes = 3}, predicted(3, {0, 1, 2}, {0, 0, 0}), first);

  std::uint64_t sum = 0;
  std::uint64_t mix = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    sum += static_cast<std::uint64_t>(first) + i;
    mix += index_hash(static_cast<std::uint64_t>(first) + i);
  }
  EXPECT_EQ(results.units.count, 3);
  EXPECT_EQ(results.units.index_sum, sum);
  EXPECT_EQ(results.units.index_mix, mix);
}

TEST(MetricSet, CountsTiesOfTheTrueClass) {
  Samples samples{3, {1, 1, 0, 1, 0, 0, 0, 0, 0}, {1, 1, 2}};
  EXPECT_EQ(score({.num_classes = 3}, samples).counts.tied, 3);
  samples.labels = {2, 0, 2};
  EXPECT_EQ(score({.num_classes = 3}, samples).counts.tied, 1);
}

TEST(MetricSet, ConstantScoresHitOnlyTheFirstFiveOfTop5) {
  Samples samples{10, std::vector<float>(100), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const auto found = values(score({.num_classes = 10}, samples));
  EXPECT_DOUBLE_EQ(found.at("accuracy"), 0.1);
  EXPECT_DOUBLE_EQ(found.at("accuracy_top5"), 0.5);
}

TEST(MetricSet, LossIsTheExactMeanOfTheLosses) {
  Samples samples = random_samples(300, 6, 9);
  RowStatistics stats;
  compute_multiclass_statistics(contiguous_view(samples.scores.data(), DType::f32, {300, 6}), 0,
                                samples.labels, {.has_ignore_index = true, .ignore_index = 2},
                                stats);
  long double sum = 0;  // exact enough for 300 numbers of like size
  std::int64_t scored = 0;
  for (const MulticlassRecord& row : stats.rows) {
    if (row.ignored) continue;
    sum += row.loss;
    ++scored;
  }

  const Results results = score({.num_classes = 6, .ignore_index = 2}, samples);

  EXPECT_EQ(results.counts.scored, scored);
  EXPECT_EQ(values(results).at("loss"), static_cast<double>(sum / scored));
}

// By hand: torch.nn.functional.cross_entropy divides by the sum of the samples' weights.
TEST(MetricSet, ClassWeightsWeighTheLoss) {
  const Samples samples{2, {0, 0, 0, 0, 0, 0}, {0, 1, 1}};
  const double even = std::log(2.0);
  EXPECT_NEAR(values(score({.num_classes = 2, .class_weights = {1, 3}}, samples)).at("loss"), even,
              1e-15);
  const Samples sure{2, {50, 0, 50, 0}, {0, 1}};
  EXPECT_NEAR(values(score({.num_classes = 2, .class_weights = {1, 3}}, sure)).at("loss"),
              3 * 50.0 / 4, 1e-12);
  EXPECT_NEAR(values(score({.num_classes = 2, .label_smoothing = 0.2}, sure)).at("loss"),
              (0.1 * 50 + 0.9 * 50) / 2, 1e-12);
}

TEST(MetricSet, SamplesWithoutScoresAreWrong) {
  Samples samples = predicted(3, {0, 1, 2, 2}, {0, 1, 2, 0});
  samples.scores[4] = std::numeric_limits<float>::quiet_NaN();
  const Results results = score({.num_classes = 3}, samples);

  EXPECT_EQ(results.counts.scored, 4);
  EXPECT_EQ(results.counts.not_finite, 1);
  EXPECT_EQ(results.counts.without_scores, 1);
  const auto found = values(results);
  EXPECT_DOUBLE_EQ(found.at("accuracy"), 2.0 / 4);
  EXPECT_DOUBLE_EQ(found.at("recall_macro"), (0.5 + 0 + 1) / 3);
  EXPECT_EQ(results.per_class[1].support, 1);
  EXPECT_EQ(results.per_class[1].predicted, 0);
  EXPECT_THAT(results.confusion, ElementsAre(1, 0, 1, 0, 0, 0, 0, 0, 1));
  EXPECT_TRUE(std::isfinite(found.at("loss"))) << "of the three that have scores";
}

TEST(MetricSet, TiesAreBoundedOnBothSides) {
  const Samples constant{4, std::vector<float>(16), {0, 1, 2, 3}};
  const Results results =
      score({.num_classes = 4, .names = {"accuracy", "accuracy_top3"}}, constant);

  ASSERT_EQ(results.tie_bounds.size(), 2u);
  EXPECT_EQ(results.tie_bounds[1].metric, "accuracy_top3");
  EXPECT_EQ(values(results).at("accuracy_top3"), 0.75);
  for (const TieBounds& bounds : results.tie_bounds) {
    EXPECT_EQ(bounds.optimistic, 1.0);
    EXPECT_EQ(bounds.pessimistic, 0.0);
  }
}

TEST(MetricSet, ProportionsHaveWilsonsInterval) {
  const Results results = score({.num_classes = 4}, predicted(4, {0, 0, 1, 1, 2}, {0, 0, 0, 1, 1}));
  for (const MetricValue& metric : results.metrics) {
    const bool is_share = metric.name == "accuracy" || metric.name == "precision_micro" ||
                          metric.name == "recall_micro" || metric.name == "f1_micro";
    EXPECT_EQ(metric.interval.has_value(), is_share) << metric.name;
  }
  EXPECT_EQ(results.find("accuracy")->interval->method, "wilson");
  EXPECT_TRUE(results.per_class[0].values.at(0).interval);
}

TEST(MetricSet, MicroFBetaIsTheProportionThatAccuracyIs) {
  const MetricOptions options{
      .num_classes = 7,
      .names = {"accuracy", "f1_micro", "f0.3_micro", "f0.5_micro", "f1.7_micro", "f2_micro"}};
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Results results = score(options, random_samples(3 + 17 * seed, 7, seed));
    const MetricValue& accuracy = *results.find("accuracy");
    ASSERT_EQ(results.metrics.size(), options.names.size());
    for (const MetricValue& metric : results.metrics) {
      EXPECT_EQ(metric.value, accuracy.value) << metric.name << " " << seed;
      EXPECT_EQ(metric.proportion.value().part, accuracy.proportion->part) << metric.name;
      EXPECT_EQ(metric.proportion->whole, accuracy.proportion->whole) << metric.name;
      EXPECT_EQ(metric.interval.value().low, accuracy.interval->low) << metric.name;
    }
  }
}

// A sample that is predicted as no class is missed once and is no false alarm.
TEST(MetricSet, MicroFBetaIsNoProportionWhereASampleHasNoPrediction) {
  Samples samples = predicted(3, {0, 0, 1, 1, 2}, {0, 0, 1, 2, 2});
  samples.scores[0] = std::numeric_limits<float>::quiet_NaN();
  const Results results =
      score({.num_classes = 3, .names = {"f1_micro", "f2_micro"}}, std::move(samples));
  EXPECT_DOUBLE_EQ(results.find("f1_micro")->value.value(), 6.0 / (5 + 4));
  EXPECT_DOUBLE_EQ(results.find("f2_micro")->value.value(), 5 * 3.0 / (4 * 5 + 4));
  for (const MetricValue& metric : results.metrics) {
    EXPECT_FALSE(metric.proportion || metric.interval) << metric.name;
  }
}

TEST(MetricSet, TheStandardSetComesInReportOrder) {
  std::vector<std::string> names;
  for (const auto& metric : score({.num_classes = 6}, random_samples(20, 6, 1)).metrics) {
    names.push_back(metric.name);
  }
  EXPECT_THAT(
      names, ElementsAre("accuracy", "accuracy_top5", "loss", "brier", "balanced_accuracy",
                         "precision_macro", "precision_micro", "precision_weighted", "recall_macro",
                         "recall_micro", "recall_weighted", "f1_macro", "f1_micro", "f1_weighted",
                         "specificity_macro", "jaccard_macro", "cohen_kappa", "mcc", "ece"));
}

TEST(MetricSet, ASubsetNeedsALesserState) {
  const MetricSet some({.num_classes = 10, .names = {"loss", "f1_macro"}});

  EXPECT_NO_THROW(some.layout()->find("loss.sum"));
  for (const char* span : {"top_k.hits", "brier.sum", "calibration.counts", "confusion.matrix"}) {
    EXPECT_THROW(some.layout()->find(span), Error) << span;
  }
  const Results results =
      score({.num_classes = 10, .names = {"loss", "f1_macro"}}, random_samples(20, 10, 1));
  ASSERT_EQ(results.metrics.size(), 2u);
  EXPECT_EQ(results.metrics[0].name, "loss");
  EXPECT_EQ(results.metrics[1].name, "f1_macro");
}

TEST(MetricSet, TheConfusionMatrixHasItsLimit) {
  const MetricOptions options{.num_classes = 10, .confusion_max_classes = 9};
  EXPECT_TRUE(score(options, random_samples(5, 10, 1)).confusion.empty());

  MetricOptions asked = options;
  asked.names = {"confusion_matrix"};
  EXPECT_THAT(message_of(asked), HasSubstr("'confusion_matrix' is kept up to 9 classes"));
}

}  // namespace
}  // namespace tally::metrics
