// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <tally/metrics/metric_set.hpp>

#include "expect_error.hpp"
#include "tags.hpp"

namespace tally::metrics {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::Optional;

const std::vector<std::string> kNames{"O", "B-A", "I-A", "B-B"};

MetricOptions options(std::vector<std::string> names = {}) {
  return {.task = "token-classification",
          .num_classes = 4,
          .ignore_index = -100,
          .names = std::move(names),
          .class_names = kNames};
}

Results score(const TaggedSamples& samples, const MetricOptions& with = options()) {
  const MetricSet metrics(with);
  exact::State state(metrics.layout());
  metrics.update(samples.records, state);
  return metrics.finalize(state);
}

std::optional<double> metric(const Results& results, std::string_view name) {
  const MetricValue* metric = results.find(name);
  EXPECT_NE(metric, nullptr) << name;
  return metric == nullptr ? std::nullopt : metric->value;
}

// Two entities A, of which one is found and one cut short; one B that is invented.
TaggedSamples two_sequences() {
  TaggedSamples samples(kNames);
  samples.add({0, 1, 2, 0}, {0, 1, 2, 3}, 6);
  samples.add({1, 2}, {1, 0}, 1);
  return samples;
}

TEST(TokenClassificationMetrics, AreOfTheTokensOfAllSequences) {
  const Results results = score(two_sequences());
  EXPECT_EQ(results.counts.scored, 2);
  EXPECT_THAT(metric(results, "accuracy"), Optional(4.0 / 6));
  EXPECT_THAT(metric(results, "loss"), Optional(7.0 / 6));
  EXPECT_THAT(metric(results, "recall_micro"), Optional(4.0 / 6));
  EXPECT_THAT(metric(results, "balanced_accuracy"), Optional((0.5 + 1 + 0.5) / 3));
  ASSERT_EQ(results.per_class.size(), 4U);
  EXPECT_EQ(results.per_class[2].support, 2);
  EXPECT_EQ(results.per_class[2].predicted, 1);
  EXPECT_EQ(results.per_class[2].correct, 1);
  EXPECT_EQ(results.per_class[3].value("specificity"), 5.0 / 6) << "of the tokens";
  EXPECT_THAT(results.confusion, ElementsAre(1, 0, 0, 1, 0, 2, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0));
}

TEST(TokenClassificationMetrics, AreOfTheEntitiesOfAllSequences) {
  const Results results = score(two_sequences());
  EXPECT_THAT(metric(results, "entity_precision"), Optional(1.0 / 3));
  EXPECT_THAT(metric(results, "entity_recall"), Optional(0.5));
  EXPECT_THAT(metric(results, "entity_f1"), Optional(0.4));
  EXPECT_THAT(metric(results, "entity_f1_macro"), Optional(0.25));
  EXPECT_THAT(metric(results, "entity_f1_weighted"), Optional(0.5));
  ASSERT_EQ(results.entity_types.size(), 2U);
  EXPECT_THAT(results.entity_types[0],
              AllOf(Field(&EntityTypeMetrics::type, "A"), Field(&EntityTypeMetrics::support, 2),
                    Field(&EntityTypeMetrics::predicted, 2), Field(&EntityTypeMetrics::correct, 1),
                    Field(&EntityTypeMetrics::f1, Optional(0.5))));
  EXPECT_EQ(results.entity_types[1].recall, std::nullopt);
}

TEST(TokenClassificationMetrics, HaveNoIntervalOfTokensThatDependOnOneAnother) {
  const Results results = score(two_sequences());
  for (const MetricValue& metric : results.metrics) {
    EXPECT_FALSE(metric.interval || metric.proportion) << metric.name;
  }
  for (const ClassMetrics& of_class : results.per_class) {
    for (const MetricValue& metric : of_class.values) {
      EXPECT_FALSE(metric.interval || metric.proportion) << metric.name;
    }
  }
}

TEST(TokenClassificationMetrics, TakeTokensWithoutFiniteScoresForWrong) {
  TaggedSamples samples = two_sequences();
  samples.add({1, 0}, {-1, 0}, std::numeric_limits<double>::quiet_NaN(), false);
  const Results results = score(samples);
  EXPECT_EQ(results.counts.without_scores, 1);
  EXPECT_THAT(metric(results, "accuracy"), Optional(5.0 / 8));
  EXPECT_THAT(metric(results, "loss"), Optional(7.0 / 6)) << "of the other sequences";
  EXPECT_THAT(metric(results, "entity_recall"), Optional(1.0 / 3));
}

TEST(TokenClassificationMetrics, IgnoreSequencesWithoutTokens) {
  TaggedSamples samples = two_sequences();
  samples.add({}, {}, 0);
  const Results results = score(samples);
  EXPECT_EQ(results.counts.ignored, 1);
  EXPECT_EQ(results.counts.scored, 2);
  EXPECT_THAT(metric(results, "loss"), Optional(7.0 / 6));
}

TEST(TokenClassificationMetrics, HaveEntitiesOnlyWithTheirTags) {
  MetricOptions without = options();
  without.class_names = {"NOUN", "VERB", "ADP", "X"};
  const Results results = score(two_sequences(), without);
  EXPECT_EQ(results.find("entity_f1"), nullptr);
  EXPECT_THAT(metric(results, "accuracy"), Optional(4.0 / 6));
  EXPECT_TRUE(results.entity_types.empty());
  without.names = {"entity_f1"};
  expect_error(ErrorKind::usage, {"metric 'entity_f1' needs names", "class 0 is named 'NOUN'"},
               [&] { MetricSet{without}; });
  EXPECT_TRUE(score(two_sequences(), options({"accuracy"})).entity_types.empty());
}

TEST(TokenClassificationMetrics, HaveNoMatrixOfTooManyClasses) {
  MetricOptions few = options();
  few.confusion_max_classes = 3;
  EXPECT_TRUE(score(two_sequences(), few).confusion.empty());
}

}  // namespace
}  // namespace tally::metrics
