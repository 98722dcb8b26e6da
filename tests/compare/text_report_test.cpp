// SPDX-License-Identifier: Apache-2.0
// A comparison as lines for people: tables, notes, names, and text that comes from files.
#include <gmock/gmock.h>

#include <limits>

#include <tally/compare/comparison_text.hpp>

#include "changes_text.hpp"

namespace tally::compare {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Comparison made() {
  Comparison comparison;
  comparison.task = "multiclass";
  comparison.a = {"runs/a", "net.pt", "0123456789abcdef", "", "11"};
  comparison.b = {"runs/b", "net.pt", "0123456789abcdef", "fedcba9876543210", "22"};
  comparison.samples.path = "val.h5";
  comparison.samples.count = 110;
  comparison.samples.ignored = 10;
  comparison.options = {.replicates = 300, .seed = 7};
  comparison.outcomes = Outcomes{.metric = "accuracy", .table = {60, 5, 15, 20}};
  comparison.metrics.push_back({.name = "accuracy",
                                .a = 0.65,
                                .b = 0.75,
                                .difference = 0.1,
                                .interval = metrics::Interval{0.0125, 0.1875, "newcombe"}});
  comparison.changes =
      ClassChanges{.counts = {.right_to_wrong = 5, .wrong_to_right = 15}, .first = {}};
  return comparison;
}

TEST(TextReport, BeginsWithBothRunsAndTheirSamples) {
  Comparison comparison = made();
  comparison.notes = {"B is old"};
  const auto lines = to_lines(comparison);
  ASSERT_GT(lines.size(), 4U);
  EXPECT_EQ(lines[0], "A: runs/a (model net.pt, sha256 0123456789ab…)");
  EXPECT_EQ(lines[1], "B: runs/b (model net.pt, with weights fedcba987654…)");
  EXPECT_EQ(lines[2], "110 samples of val.h5, 100 scored, 10 ignored");
  EXPECT_EQ(lines[3], "note: B is old");
}

TEST(TextReport, TablesHoldCountsAndFigures) {
  const auto lines = to_lines(made());
  EXPECT_THAT(lines, Contains("                         B right     B wrong"));
  EXPECT_THAT(lines, Contains("A right                       60           5"));
  EXPECT_THAT(lines, Contains("A wrong                       15          20"));
  EXPECT_THAT(lines, Contains("McNemar's exact test, two-sided: p = 0.0414"));
  EXPECT_THAT(lines, Contains("                                   A           B       B - A   "
                              "95 % interval of B - A"));
  EXPECT_THAT(lines, Contains("accuracy                      0.6500      0.7500     +0.1000   "
                              "+0.0125 … +0.1875         B better"));
  EXPECT_THAT(lines, Contains("intervals: 300 replicates of the paired bootstrap, seed 7; "
                              "accuracy: Newcombe's"));
  EXPECT_EQ(lines.back(),
            "B is better than A: accuracy 0.6500 -> 0.7500 (+0.1000, 95 % interval +0.0125 … "
            "+0.1875; McNemar p = 0.0414).");
}

TEST(TextReport, UndefinedFiguresAndLongNamesKeepTheirColumns) {
  Comparison comparison = made();
  const std::string name = "precision_at_recall_0.125_macro";  // longer than the usual column
  comparison.metrics = {{.name = name, .a = 0.5}};
  const auto lines = to_lines(comparison);
  EXPECT_THAT(lines, Contains(name + "      0.5000   undefined   undefined   none"));
  EXPECT_THAT(lines, Contains("intervals: 300 replicates of the paired bootstrap, seed 7"));
  EXPECT_EQ(lines.back(), "No difference can be told: " + name + " is undefined.");
}

TEST(TextReport, WhatIsLeftOutHasItsReason) {
  Comparison comparison = made();
  comparison.left_out = {{"brier", "needs the column 'probabilities'"}, {"loss", "was weighted"}};
  const auto lines = to_lines(comparison);
  EXPECT_THAT(lines, Contains("left out: brier needs the column 'probabilities'"));
  EXPECT_THAT(lines, Contains("left out: loss was weighted"));
}

TEST(TextReport, TextOfFilesStaysOnItsLine) {
  Comparison comparison = made();
  comparison.a.model = "a\nb";
  comparison.a.model_sha256 = "\x1b[2J";
  comparison.b.path = "\xff";
  comparison.samples.path = "\x9b";
  const auto lines = to_lines(comparison);
  EXPECT_EQ(lines[0], "A: runs/a (model a\\x0ab, sha256 \\x1b[2J…)");
  EXPECT_THAT(lines[1], StartsWith("B: \\xff (model"));
  EXPECT_THAT(lines[2], StartsWith("110 samples of \\x9b, "));
}

// Newcombe's interval of this table is +0.011 … +0.226 ("Statistics with confidence", table 6.2),
// McNemar's p 2/32.
TEST(TextReport, SaysWhereTheTestDecidesAgainstTheInterval) {
  Comparison comparison = made();
  comparison.outcomes->table = {14, 0, 5, 22};
  comparison.metrics[0].interval = difference_interval(comparison.outcomes->table);
  comparison.changes = ClassChanges{.counts = {.wrong_to_right = 5}, .first = {}};
  const Conclusion found = conclude(comparison);
  EXPECT_FALSE(found.better);
  EXPECT_THAT(found.sentence, StartsWith("No difference can be told: accuracy "));
  EXPECT_THAT(found.sentence, EndsWith("McNemar p = 0.0625), by which the test decides, not by the "
                                       "interval."));
}

TEST(TextReport, ClassesHaveTheirNamesUnlessTheseAreLong) {
  Comparison comparison = made();
  comparison.samples.class_names = {"cat", std::string(24, 'd'), std::string(25, 'e')};
  comparison.changes =
      ClassChanges{.counts = {.right_to_wrong = 2},
                   .first = {{.index = 8, .label = 0, .a = {0, 0.5}, .b = {1, 0.25}},
                             {.index = 9, .label = 2, .a = {2, 0.5}, .b = {3, 0.125}}}};
  EXPECT_THAT(change_lines(comparison),
              ElementsAre("predicted otherwise in B: 2 of 100 samples; right -> wrong 2, wrong -> "
                          "right 0, wrong -> other wrong 0",
                          "  sample 8, label 0 'cat': 0 'cat' (0.500) -> 1 '" +
                              std::string(24, 'd') + "' (0.250)",
                          "  sample 9, label 2: 2 (0.500) -> 3 (0.125)"));
}

TEST(TextReport, SamplesHaveTheirNamesUnlessTheseAreLong) {
  Comparison comparison = made();
  comparison.samples.names = {{8, "cats/8\x1b.png"}, {9, std::string(121, 'x')}};
  comparison.changes = ClassChanges{.counts = {.right_to_wrong = 3},
                                    .first = {{.index = 8, .a = {0, 0.5}, .b = {1, 0.25}},
                                              {.index = 9, .a = {0, 0.5}, .b = {1, 0.25}},
                                              {.index = 10, .a = {0, 0.5}, .b = {1, 0.25}}}};
  auto lines = change_lines(comparison);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], "  sample 8 'cats/8\\x1b.png', label 0: 0 (0.500) -> 1 (0.250)");
  EXPECT_THAT(lines[2], StartsWith("  sample 9, label"));
  EXPECT_THAT(lines[3], StartsWith("  sample 10, label"));
  comparison.changes =
      ValueChanges{.farther = 1, .first = {{.index = 8, .targets = {1}, .a = {}, .b = {}}}};
  EXPECT_THAT(change_lines(comparison).back(), StartsWith("  sample 8 'cats/8\\x1b.png', target"));
  comparison.changes =
      LabelSetChanges{.counts = {.wrong_to_right = 1},
                      .first = {{.index = 8, .scored = 4, .labels = {}, .a = {}, .b = {}}}};
  EXPECT_THAT(change_lines(comparison).back(), StartsWith("  sample 8 'cats/8\\x1b.png', 0 -> 0"));
}

TEST(TextReport, WhereNoChangeIsListedNoneIsMissed) {
  Comparison comparison = made();
  comparison.changes = ClassChanges{.counts = {.wrong_to_right = 7}, .first = {}};
  EXPECT_EQ(change_lines(comparison).size(), 1U) << "--changed 0 asks for none";
  comparison.changes = ValueChanges{.closer = 2, .farther = 1, .first = {}};
  EXPECT_THAT(change_lines(comparison),
              ElementsAre("of 100 samples, 2 are closer to the target in B, 1 farther from it"));
}

TEST(TextReport, OfManyValuesThreeAreShown) {
  Comparison comparison = made();
  comparison.changes =
      ValueChanges{.farther = 1,
                   .first = {{.index = 2,
                              .targets = {1, 2, 3, 4, 5},
                              .a = {.values = {1, 2, 3, 4, 0.123456F}, .error = 0.975},
                              .b = {.values = {kNan, 2, 3, 4, 5}, .error = double{kInf}}}}};
  EXPECT_THAT(change_lines(comparison).back(),
              "  sample 2, target 1 2 3 and 2 more: 1 2 3 and 2 more (off by 0.975) -> nan 2 3 and "
              "2 more (off by inf)");
}

TEST(TextReport, SetsOfLabelsSayWhatIsAddedAndDropped) {
  const auto set = [](std::vector<std::int64_t> labels, std::int64_t right) {
    return LabelSetPrediction{.labels = std::move(labels), .right = right};
  };
  Comparison comparison = made();
  comparison.changes = LabelSetChanges{
      .counts = {.wrong_to_right = 2},
      .first = {{.index = 1, .scored = 4, .labels = {2}, .a = set({}, 3), .b = set({2}, 4)},
                {.index = 2, .scored = 4, .labels = {}, .a = {}, .b = set({}, 4)}}};
  const auto lines = change_lines(comparison);
  EXPECT_THAT(lines, Contains("  sample 1, 3 -> 4 of 4 labels right: B adds label 2"));
  EXPECT_THAT(lines, Contains("  sample 2, 0 -> 4 of 4 labels right: no prediction in A"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("more"))));
}

TEST(MetricText, LargeAndSmallNumbersKeepTheirDigits) {
  EXPECT_EQ(value_text(-999.99994), "-999.9999");
  EXPECT_EQ(value_text(1000), "1000");
  EXPECT_EQ(difference_text(0.00096), "+0.0010");
  EXPECT_EQ(difference_text(0.00094), "+9.4e-04");
  EXPECT_EQ(difference_text(-2000), "-2000");
  EXPECT_EQ(interval_text({-0.5, 0.00001, ""}), "-0.5000 … +1.0e-05");
  EXPECT_EQ(p_text(0.04138946533203125), "0.0414");
}

}  // namespace
}  // namespace tally::compare
