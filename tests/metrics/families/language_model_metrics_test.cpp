// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/metrics/metric_set.hpp>

#include "texts.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::Optional;

Results score(const std::vector<LanguageModelRecord>& rows) {
  const MetricSet metrics({.task = "language-model", .num_classes = 100});
  exact::State state(metrics.layout());
  metrics.update(rows, state);
  return metrics.finalize(state);
}

std::optional<double> metric(const Results& results, std::string_view name) {
  const MetricValue* metric = results.find(name);
  EXPECT_NE(metric, nullptr) << name;
  return metric == nullptr ? std::nullopt : metric->value;
}

const LanguageModelRecord kShort{
    .index = 0, .tokens = 4, .right = 1, .in_top5 = 2, .loss = 6, .bytes = 10, .words = 2};
const LanguageModelRecord kLong{
    .index = 1, .tokens = 12, .right = 3, .in_top5 = 9, .loss = 10, .bytes = 30, .words = 6};

TEST(LanguageModelMetrics, AreOfTheTokensOfAllDocuments) {
  const Results results = score({kShort, kLong});
  EXPECT_THAT(metric(results, "loss"), Optional(1.0));
  EXPECT_THAT(metric(results, "perplexity"), Optional(std::exp(1.0)));
  EXPECT_THAT(metric(results, "bits_per_byte"), Optional(0.4 / std::log(2.0)));
  EXPECT_THAT(metric(results, "byte_perplexity"), Optional(std::exp(0.4)));
  EXPECT_THAT(metric(results, "word_perplexity"), Optional(std::exp(2.0)));
  EXPECT_THAT(metric(results, "accuracy"), Optional(0.25));
  EXPECT_THAT(metric(results, "accuracy_top5"), Optional(11.0 / 16));
  EXPECT_EQ(results.counts.scored, 2);
  EXPECT_TRUE(results.per_class.empty()) << "tokens are no classes";
}

TEST(LanguageModelMetrics, HaveNoIntervalOfTokensThatDependOnOneAnother) {
  for (const MetricValue& metric : score({kShort, kLong}).metrics) {
    EXPECT_FALSE(metric.interval || metric.proportion) << metric.name;
  }
}

TEST(LanguageModelMetrics, LeaveOutDocumentsWithoutFiniteScoresButInAccuracy) {
  LanguageModelRecord spoilt = kLong;
  spoilt.finite = false;
  spoilt.loss = std::numeric_limits<double>::quiet_NaN();
  const Results results = score({kShort, spoilt});
  EXPECT_EQ(results.counts.without_scores, 1);
  EXPECT_THAT(metric(results, "loss"), Optional(1.5));
  EXPECT_THAT(metric(results, "byte_perplexity"), Optional(std::exp(0.6)));
  EXPECT_THAT(metric(results, "word_perplexity"), Optional(std::exp(3.0)));
  EXPECT_THAT(metric(results, "accuracy"), Optional(0.25));
}

TEST(LanguageModelMetrics, TellBytesAndWordsOfWholeDocumentsOnly) {
  LanguageModelRecord cut = kLong;
  cut.whole = false;
  const Results results = score({kShort, cut});
  EXPECT_THAT(metric(results, "loss"), Optional(1.0));
  EXPECT_THAT(metric(results, "byte_perplexity"), Optional(std::exp(0.6)));
  EXPECT_THAT(metric(results, "word_perplexity"), Optional(std::exp(3.0)));
  EXPECT_EQ(metric(score({cut}), "bits_per_byte"), std::nullopt);
}

TEST(LanguageModelMetrics, IgnoreDocumentsWithoutTokens) {
  LanguageModelRecord empty = kLong;
  empty.tokens = empty.right = empty.in_top5 = 0;
  empty.loss = 0;
  const Results results = score({kShort, empty});
  EXPECT_EQ(results.counts.ignored, 1);
  EXPECT_EQ(results.counts.scored, 1);
  EXPECT_THAT(metric(results, "byte_perplexity"), Optional(std::exp(0.6)));
  EXPECT_THAT(metric(results, "word_perplexity"), Optional(std::exp(3.0)));
}

TEST(LanguageModelMetrics, ThatNoDoubleHoldsAreUndefined) {
  LanguageModelRecord hopeless = kShort;
  hopeless.loss = 709 * 4;
  EXPECT_GT(metric(score({hopeless}), "perplexity").value(), 8e307);
  hopeless.loss = 710 * 4;
  Results results = score({hopeless});
  EXPECT_THAT(metric(results, "loss"), Optional(710));
  EXPECT_EQ(metric(results, "perplexity"), std::nullopt);
  EXPECT_EQ(metric(results, "word_perplexity"), std::nullopt);
  EXPECT_TRUE(metric(results, "byte_perplexity"));
  hopeless.loss = 1.7e308;
  results = score({hopeless, hopeless, hopeless});
  EXPECT_THAT(metric(results, "loss"), Optional(1.7e308 / 4));
}

TEST(LanguageModelMetrics, AreListedForTheHelp) {
  std::vector<std::string_view> names;
  for (const MetricDescription& metric : known_metrics("language-model")) {
    names.push_back(metric.name);
    EXPECT_TRUE(metric.standard) << metric.name;
    const bool is_share = metric.name.starts_with("accuracy");
    EXPECT_EQ(metric.less_is_better, !is_share) << metric.name;
    EXPECT_EQ(metric.leaves_out_not_finite, !is_share) << metric.name;
  }
  EXPECT_THAT(names, ElementsAre("loss", "perplexity", "bits_per_byte", "byte_perplexity",
                                 "word_perplexity", "accuracy", "accuracy_top5"));
}

}  // namespace
}  // namespace tally::metrics
