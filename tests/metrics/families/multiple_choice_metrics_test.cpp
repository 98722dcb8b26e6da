// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/multiple_choice_metrics.hpp>

#include "texts.hpp"

namespace tally::metrics {
namespace {

using testing::Optional;

Results score(const std::vector<MultipleChoiceRecord>& rows) {
  const MetricSet metrics({.task = "multiple-choice", .num_classes = 100});
  exact::State state(metrics.layout());
  metrics.update(rows, state);
  return metrics.finalize(state);
}

const MultipleChoiceRecord kAllRight{
    .index = 0, .right = true, .right_by_character = true, .right_by_byte = true};
const MultipleChoiceRecord kRight{.index = 1, .right = true, .right_by_character = true};
const MultipleChoiceRecord kByLength{.index = 2, .right_by_character = true};
const MultipleChoiceRecord kWrong{.index = 3};

TEST(MultipleChoiceMetrics, AreSharesOfQuestions) {
  const Results results = score({kAllRight, kRight, kByLength, kWrong});
  EXPECT_THAT(results.find("accuracy")->value, Optional(0.5));
  EXPECT_THAT(results.find("accuracy_norm")->value, Optional(0.75));
  EXPECT_THAT(results.find("accuracy_bytes")->value, Optional(0.25));
  ASSERT_TRUE(results.find("accuracy_norm")->interval);
  EXPECT_EQ(results.find("accuracy_norm")->interval->low, wilson({3, 4})->low);
  EXPECT_TRUE(results.per_class.empty());
}

TEST(MultipleChoiceMetrics, IgnoreQuestionsThatAreCut) {
  MultipleChoiceRecord cut = kAllRight;
  cut.ignored = true;
  const Results results = score({kRight, kWrong, cut});
  EXPECT_EQ(results.counts.ignored, 1);
  EXPECT_EQ(results.find("accuracy")->proportion->whole, 2);
  EXPECT_THAT(results.find("accuracy")->value, Optional(0.5));
}

TEST(MultipleChoiceMetrics, CountQuestionsWithoutFiniteScoresAsWrong) {
  MultipleChoiceRecord spoilt = kWrong;
  spoilt.finite = false;
  const Results results = score({kAllRight, spoilt});
  EXPECT_EQ(results.counts.without_scores, 1);
  EXPECT_THAT(results.find("accuracy_bytes")->value, Optional(0.5));
}

TEST(MultipleChoiceMetrics, OfNoQuestionAreUndefined) {
  for (const MetricValue& metric : score({}).metrics) {
    EXPECT_EQ(metric.value, std::nullopt) << metric.name;
    EXPECT_FALSE(metric.proportion || metric.interval) << metric.name;
  }
  EXPECT_EQ(known_metrics("multiple-choice").size(), 3U);
}

}  // namespace
}  // namespace tally::metrics
