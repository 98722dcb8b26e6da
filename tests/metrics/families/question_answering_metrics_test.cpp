// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include <tally/base/index_hash.hpp>

#include "answers.hpp"
#include "refusals.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Questions { with_answers, some_without };

MetricOptions options_for(Questions questions, std::vector<std::string> names = {}) {
  return {.task = "question-answering",
          .names = std::move(names),
          .no_answer = questions == Questions::some_without};
}

Results score(const std::vector<QuestionAnsweringRecord>& rows,
              Questions questions = Questions::some_without) {
  const MetricSet metrics(options_for(questions));
  exact::State state(metrics.layout());
  metrics.update(rows, state);
  return metrics.finalize(state);
}

std::optional<double> metric(const Results& results, std::string_view name) {
  const MetricValue* metric = results.find(name);
  EXPECT_NE(metric, nullptr) << name;
  return metric == nullptr ? std::nullopt : metric->value;
}

const QuestionAnsweringRecord kExact{.index = 4, .exact = true, .f1 = 1};
const QuestionAnsweringRecord kHalf{.index = 5, .exact = false, .f1 = 0.5};
const QuestionAnsweringRecord kWrong{.index = 6, .exact = false, .f1 = 0};
const QuestionAnsweringRecord kNone{.index = 7, .has_answer = false, .exact = true, .f1 = 1};
const QuestionAnsweringRecord kInvented{.index = 8, .has_answer = false, .exact = false, .f1 = 0};

TEST(QuestionAnsweringMetrics, AreMeansOverQuestionsOfEachKind) {
  const Results results = score({kExact, kHalf, kWrong, kWrong, kNone, kInvented});
  EXPECT_EQ(metric(results, "exact_match"), 2.0 / 6);
  EXPECT_EQ(metric(results, "f1"), 2.5 / 6);
  EXPECT_EQ(metric(results, "has_answer_exact_match"), 0.25);
  EXPECT_EQ(metric(results, "has_answer_f1"), 0.375);
  EXPECT_EQ(metric(results, "no_answer_exact_match"), 0.5);
  EXPECT_EQ(metric(results, "no_answer_f1"), 0.5);
  EXPECT_EQ(results.units.count, 6);
  EXPECT_EQ(results.counts.scored, 6);
  EXPECT_TRUE(results.per_class.empty());
}

TEST(QuestionAnsweringMetrics, TellKindsApartWhereThereAreTwo) {
  const auto names = [](Questions questions, std::vector<std::string> asked) {
    return MetricSet(options_for(questions, std::move(asked))).options().names;
  };
  for (const char* asked : {"standard", "all"}) {
    EXPECT_THAT(names(Questions::with_answers, {asked}), ElementsAre("exact_match", "f1"));
    EXPECT_THAT(names(Questions::some_without, {asked}),
                ElementsAre("exact_match", "f1", "has_answer_exact_match", "has_answer_f1",
                            "no_answer_exact_match", "no_answer_f1"));
  }
  for (const char* name :
       {"has_answer_exact_match", "has_answer_f1", "no_answer_exact_match", "no_answer_f1"}) {
    EXPECT_EQ(message_of(options_for(Questions::with_answers, {"f1", name})),
              "metric '" + std::string(name) +
                  "' is of data sets in which a question may have no answer. Leave it out of "
                  "--metrics.");
    EXPECT_THAT(names(Questions::some_without, {name}), ElementsAre(name));
  }
  const Results results = score({kExact, kWrong}, Questions::with_answers);
  EXPECT_EQ(results.find("has_answer_f1"), nullptr);
  EXPECT_EQ(metric(results, "exact_match"), 0.5);
}

TEST(QuestionAnsweringMetrics, AreListedForTheHelp) {
  std::vector<std::string_view> names;
  for (const MetricDescription& metric : known_metrics("question-answering")) {
    names.push_back(metric.name);
    EXPECT_TRUE(metric.standard) << metric.name;
    EXPECT_FALSE(metric.definition.empty()) << metric.name;
    EXPECT_FALSE(metric.less_is_better || metric.leaves_out_not_finite);
    EXPECT_EQ(metric.needs_order, metric.name.starts_with("best_"));
  }
  EXPECT_THAT(names,
              ElementsAre("exact_match", "f1", "has_answer_exact_match", "has_answer_f1",
                          "no_answer_exact_match", "no_answer_f1", "best_exact_match", "best_f1"));
  EXPECT_TRUE(description_of("question-answering", "no_answer_f1"));
  EXPECT_FALSE(description_of("question-answering", "accuracy"));
  EXPECT_THAT(message_of(options_for(Questions::with_answers, {"exact_mach"})),
              HasSubstr("Did you mean 'exact_match'?"));
}

TEST(QuestionAnsweringMetrics, OfSharesHaveAnInterval) {
  const Results results = score({kExact, kHalf, kWrong, kNone, kInvented});
  for (const auto& [name, share] :
       std::map<std::string, Proportion>{{"exact_match", {2, 5}},
                                         {"has_answer_exact_match", {1, 3}},
                                         {"no_answer_exact_match", {1, 2}}}) {
    const MetricValue* metric = results.find(name);
    ASSERT_TRUE(metric->proportion && metric->interval) << name;
    EXPECT_EQ(metric->proportion->part, share.part) << name;
    EXPECT_EQ(metric->proportion->whole, share.whole) << name;
    EXPECT_EQ(metric->interval->method, "wilson");
    EXPECT_EQ(metric->interval->low, wilson(share)->low) << name;
    EXPECT_EQ(metric->interval->high, wilson(share)->high) << name;
  }
  for (const char* name : {"f1", "has_answer_f1", "no_answer_f1"}) {
    EXPECT_FALSE(results.find(name)->interval) << name << " is no share of questions";
  }
}

TEST(QuestionAnsweringMetrics, OfNoQuestionAreUndefined) {
  for (const MetricValue& metric : score({}).metrics) {
    EXPECT_EQ(metric.value, std::nullopt) << metric.name;
    EXPECT_FALSE(metric.interval) << metric.name;
  }
  const Results with = score({kExact, kHalf});
  EXPECT_EQ(metric(with, "no_answer_exact_match"), std::nullopt);
  EXPECT_EQ(metric(with, "no_answer_f1"), std::nullopt);
  EXPECT_EQ(metric(with, "f1"), 0.75);
  const Results without = score({kNone});
  EXPECT_EQ(metric(without, "has_answer_exact_match"), std::nullopt);
  EXPECT_EQ(metric(without, "has_answer_f1"), std::nullopt);
  EXPECT_EQ(metric(without, "exact_match"), 1.0);
}

TEST(QuestionAnsweringMetrics, CountQuestionsWithoutFiniteScores) {
  QuestionAnsweringRecord spoilt = kWrong;
  spoilt.finite = false;
  const Results results = score({kExact, spoilt});
  EXPECT_EQ(results.units.count, 2);
  EXPECT_EQ(results.counts.not_finite, 1);
  EXPECT_EQ(results.counts.without_scores, 1);
  EXPECT_EQ(metric(results, "exact_match"), 0.5);
  EXPECT_EQ(metric(results, "f1"), 0.5);
}

// Ten tenths, added up in doubles, are less than 1; three are more than 0.3.
TEST(QuestionAnsweringMetrics, AddUpExactly) {
  const QuestionAnsweringRecord tenth{.index = 1, .f1 = 0.1};
  for (const std::size_t count : {3U, 10U}) {
    EXPECT_EQ(metric(score(std::vector<QuestionAnsweringRecord>(count, tenth)), "f1"), 0.1)
        << count;
  }
}

TEST(QuestionAnsweringMetrics, SamplesHaveEvidenceOfTheirOwn) {
  const MetricSet metrics(options_for(Questions::with_answers));
  exact::State state(metrics.layout());
  const std::vector<SampleRecord> windows{{10, true}, {11, false}, {12, true}};
  metrics.update(windows, state);
  metrics.update(std::vector<QuestionAnsweringRecord>{kExact, kHalf}, state);
  const Results results = metrics.finalize(state);
  EXPECT_EQ(results.units.count, 2);
  EXPECT_EQ(results.units.index_sum, 4U + 5U);
  EXPECT_EQ(results.units.index_mix, index_hash(4) + index_hash(5));
  EXPECT_EQ(results.counts.not_finite, 0) << "windows are no questions";
  ASSERT_TRUE(results.seen_samples);
  EXPECT_EQ(results.samples().count, 3);
  EXPECT_EQ(results.samples().index_sum, 33U);
  EXPECT_EQ(results.samples().index_mix, index_hash(10) + index_hash(11) + index_hash(12));
}

TEST(QuestionAnsweringMetrics, WhereSamplesAreUnitsTheyAreTheEvidence) {
  const MetricSet metrics({.task = "regression", .num_classes = 1});
  exact::State state(metrics.layout());
  const Results results = metrics.finalize(state);
  EXPECT_FALSE(results.seen_samples);
  EXPECT_EQ(results.samples().count, results.units.count);
}

}  // namespace
}  // namespace tally::metrics
