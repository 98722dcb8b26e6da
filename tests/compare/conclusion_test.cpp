// SPDX-License-Identifier: Apache-2.0
// The last sentence, and how metrics in it are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/compare/comparison.hpp>
#include <tally/compare/comparison_text.hpp>

namespace tally::compare {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

MetricDifference difference_of(std::string name, double a, double b, double low, double high) {
  return {.name = std::move(name),
          .a = a,
          .b = b,
          .difference = b - a,
          .interval = metrics::Interval{low, high, "bootstrap"}};
}

Comparison with_accuracy(const ContingencyTable& table) {
  Comparison comparison;
  comparison.samples.count = table.total();
  comparison.outcomes = Outcomes{.metric = "accuracy", .table = table};
  const auto all = static_cast<double>(table.total());
  MetricDifference accuracy =
      difference_of("accuracy", static_cast<double>(table.both_right + table.only_a_right) / all,
                    static_cast<double>(table.both_right + table.only_b_right) / all, 0, 0);
  accuracy.interval = difference_interval(table);
  comparison.metrics.push_back(std::move(accuracy));
  comparison.changes = ClassChanges{
      .counts = {.right_to_wrong = table.only_a_right, .wrong_to_right = table.only_b_right},
      .first = {}};
  return comparison;
}

TEST(Conclusion, NamesTheBetterRun) {
  const auto found = conclude(with_accuracy({6800, 130, 210, 2860}));
  EXPECT_EQ(found.better, Side::b);
  EXPECT_EQ(found.metric, "accuracy");
  EXPECT_EQ(found.sentence,
            "B is better than A: accuracy 0.6930 -> 0.7010 (+0.0080, 95 % interval +0.0044 … "
            "+0.0116; McNemar p = 1.69e-05).");
  const auto mirrored = conclude(with_accuracy({6800, 210, 130, 2860}));
  EXPECT_EQ(mirrored.better, Side::a);
  EXPECT_THAT(mirrored.sentence, StartsWith("A is better than B: accuracy 0.7010 -> 0.6930 (-0.0"));
}

TEST(Conclusion, ClaimsNothingWithoutSignificance) {
  const auto found = conclude(with_accuracy({60, 9, 14, 20}));
  EXPECT_FALSE(found.better);
  EXPECT_THAT(found.sentence, StartsWith("No difference can be told: accuracy 0.6699 -> 0.7184"));
  EXPECT_THAT(found.sentence, EndsWith("McNemar p = 0.405)."));
}

TEST(Conclusion, SaysThatAllPredictionsAreAlike) {
  const auto found = conclude(with_accuracy({60, 0, 0, 20}));
  EXPECT_FALSE(found.better);
  EXPECT_THAT(found.sentence,
              StartsWith("No difference can be told: A and B predict the same for every sample, "
                         "accuracy 0.7500 -> 0.7500 (+0.0000, "));
  EXPECT_THAT(found.sentence, EndsWith("McNemar p = 1)."));
}

TEST(Conclusion, IsOfTheFirstMetricWhereAccuracyIsNotCompared) {
  Comparison comparison;
  comparison.metrics.push_back(difference_of("loss", 1.5, 1.25, -0.5, -0.125));
  comparison.metrics.back().less_is_better = true;
  const auto found = conclude(comparison);
  EXPECT_EQ(found.better, Side::b);
  EXPECT_EQ(
      found.sentence,
      "B is better than A: loss 1.5000 -> 1.2500 (-0.2500, 95 % interval -0.5000 … -0.1250).");
  comparison.metrics.back().interval->high = 0;
  EXPECT_THAT(conclude(comparison).sentence, StartsWith("No difference can be told: loss"));
}

TEST(Conclusion, OfSeveralLabelsIsOfExactMatch) {
  Comparison comparison = with_accuracy({6800, 130, 210, 2860});
  comparison.outcomes->metric = "exact_match";
  comparison.metrics.insert(comparison.metrics.begin(),
                            difference_of("accuracy", 0.9, 0.8, -0.2, -0.05));
  comparison.metrics.back().name = "exact_match";
  const auto found = conclude(comparison);
  EXPECT_EQ(found.better, Side::b);
  EXPECT_EQ(found.metric, "exact_match");
  EXPECT_THAT(found.sentence, StartsWith("B is better than A: exact_match 0.6930 -> 0.7010 (+0.0"));
  EXPECT_THAT(found.sentence, EndsWith("McNemar p = 1.69e-05)."));
}

TEST(Conclusion, OfUndefinedFigures) {
  Comparison comparison;
  comparison.metrics.push_back({.name = "f1_macro"});
  EXPECT_EQ(conclude(comparison).sentence, "No difference can be told: f1_macro is undefined.");
  comparison.metrics[0] = {.name = "mcc", .a = 0.5, .b = 0.25, .difference = -0.25};
  EXPECT_THAT(conclude(comparison).sentence, HasSubstr("no interval"));
  EXPECT_FALSE(conclude(comparison).better);
}

TEST(MetricText, DifferencesDoNotRoundToNothing) {
  EXPECT_EQ(difference_text(0.00801), "+0.0080");
  EXPECT_EQ(difference_text(-0.25), "-0.2500");
  EXPECT_EQ(difference_text(0.00002), "+2.0e-05");
  EXPECT_EQ(difference_text(0), "+0.0000");
  EXPECT_EQ(difference_text(-0.0), "+0.0000");
  EXPECT_EQ(difference_text(123456), "+123456");
  EXPECT_EQ(value_text(123456.789), "123457");
  EXPECT_EQ(p_text(3.14e-9), "3.14e-09");
  EXPECT_EQ(p_text(1), "1");
}

TEST(Lines, LastIsTheConclusion) {
  Comparison comparison = with_accuracy({60, 9, 14, 20});
  comparison.task = "multiclass";
  comparison.a.path = "a\x1b[2J";
  std::get<ClassChanges>(comparison.changes).first = {
      {.index = 4, .label = 1, .a = {0, 0.5}, .b = {-1, NAN}}};
  const auto lines = to_lines(comparison);
  EXPECT_EQ(lines.back(), conclude(comparison).sentence);
  EXPECT_THAT(lines.front(), StartsWith("A: a\\x1b[2J "));
  EXPECT_THAT(lines, testing::Contains("  sample 4, label 1: 0 (0.500) -> none"));
  EXPECT_THAT(lines, testing::Contains("  and 22 more (--changed N lists N of them)"));
}

TEST(Lines, OfSetsOfLabels) {
  Comparison comparison = with_accuracy({60, 9, 14, 20});
  comparison.outcomes->metric = comparison.metrics[0].name = "exact_match";
  comparison.changes = LabelSetChanges{
      .counts = {.right_to_wrong = 9, .wrong_to_right = 14, .wrong_to_other_wrong = 1},
      .first = {{.index = 7,
                 .scored = 6,
                 .labels = {1, 3, 4, 5},
                 .a = {.labels = std::vector<std::int64_t>{0, 2, 3}, .right = 2},
                 .b = {.labels = std::vector<std::int64_t>{1, 3, 4, 5, 6}, .right = 5}},
                {.index = 8,
                 .scored = 6,
                 .labels = {},
                 .a = {.labels = std::vector<std::int64_t>{1}, .right = 5},
                 .b = {.labels = std::vector<std::int64_t>{}, .right = 6}},
                {.index = 9,
                 .scored = 6,
                 .labels = {1},
                 .a = {.labels = std::vector<std::int64_t>{1}, .right = 6},
                 .b = {.labels = std::nullopt, .right = 0}}}};
  const auto lines = to_lines(comparison);
  EXPECT_THAT(lines, testing::Contains("a sample is right where every scored label is"));
  EXPECT_THAT(lines, testing::Contains("  sample 7, 2 -> 5 of 6 labels right: B adds labels 1 4 5 "
                                       "and 1 more, drops labels 0 2"));
  EXPECT_THAT(lines, testing::Contains("  sample 8, 5 -> 6 of 6 labels right: B drops label 1"));
  EXPECT_THAT(lines, testing::Contains("  sample 9, 6 -> 0 of 6 labels right: no prediction in B"));
  EXPECT_THAT(lines, testing::Contains("  and 21 more (--changed N lists N of them)"));
}

TEST(Lines, OfValues) {
  Comparison comparison;
  comparison.samples.count = 5;
  comparison.metrics.push_back(difference_of("mse", 1.5, 1.25, -0.5, -0.125));
  comparison.metrics.back().less_is_better = true;
  comparison.changes = ValueChanges{.closer = 3,
                                    .farther = 1,
                                    .first = {{.index = 2,
                                               .targets = {1.0f, 2.0f},
                                               .a = {.values = {1.5f, 2.5f}, .error = 0.5},
                                               .b = {.values = {1.0f, 2.125f}, .error = 0.0625}}}};
  const auto lines = to_lines(comparison);
  EXPECT_THAT(lines, testing::Contains("no sample is right or wrong: there is no McNemar's test"));
  EXPECT_THAT(
      lines, testing::Contains("of 5 samples, 3 are closer to the target in B, 1 farther from it"));
  EXPECT_THAT(
      lines,
      testing::Contains("  sample 2, target 1 2: 1.5 2.5 (off by 0.5) -> 1 2.125 (off by 0.0625)"));
  EXPECT_THAT(lines.back(), StartsWith("B is better than A: mse 1.5000 -> 1.2500"));
}

}  // namespace
}  // namespace tally::compare
