// The last sentence, and how figures in it are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/compare/comparison.hpp>

#include "figures.hpp"

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

Comparison with_accuracy(const PairedTable& table) {
  Comparison comparison;
  comparison.samples = table.total();
  comparison.table = table;
  const auto all = static_cast<double>(table.total());
  MetricDifference accuracy =
      difference_of("accuracy", static_cast<double>(table.both_right + table.only_a_right) / all,
                    static_cast<double>(table.both_right + table.only_b_right) / all, 0, 0);
  accuracy.interval = difference_interval(table);
  comparison.metrics.push_back(std::move(accuracy));
  comparison.changes.right_to_wrong = table.only_a_right;
  comparison.changes.wrong_to_right = table.only_b_right;
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

TEST(Conclusion, OfUndefinedFigures) {
  Comparison comparison;
  comparison.metrics.push_back({.name = "f1_macro"});
  EXPECT_EQ(conclude(comparison).sentence, "No difference can be told: f1_macro is undefined.");
  comparison.metrics[0] = {.name = "mcc", .a = 0.5, .b = 0.25, .difference = -0.25};
  EXPECT_THAT(conclude(comparison).sentence, HasSubstr("no interval"));
  EXPECT_FALSE(conclude(comparison).better);
}

TEST(Figures, DifferencesDoNotRoundToNothing) {
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

TEST(Lines, LastIsTheConclusionAndNoneIsTooWide) {
  Comparison comparison = with_accuracy({60, 9, 14, 20});
  comparison.task = "multiclass";
  comparison.a.path = "a\x1b[2J";
  comparison.changes.first = {{.index = 4, .label = 1, .a = {0, 0.5}, .b = {-1, NAN}}};
  const auto lines = to_lines(comparison);
  EXPECT_EQ(lines.back(), conclude(comparison).sentence);
  EXPECT_THAT(lines.front(), StartsWith("A: a\\x1b[2J "));
  EXPECT_THAT(lines, testing::Contains("  sample 4, label 1: 0 (0.500) -> none"));
  EXPECT_THAT(lines, testing::Contains("  and 22 more (--changed N lists N of them)"));
}

}  // namespace
}  // namespace tally::compare
