// SPDX-License-Identifier: Apache-2.0
// Samples of each kind of task: who is right, and what changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/base/error.hpp>

#include "expect_error.hpp"
#include "multiclass_pair.hpp"
#include "multilabel_pair.hpp"
#include "paired_bootstrap.hpp"
#include "regression_pair.hpp"

namespace tally::compare {
namespace {

using metrics::kNotScored;
using metrics::LabelStatistics;
using metrics::MultilabelRecord;
using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Probabilities and targets, [samples, labels] each; a sample whose first probability is NaN has no
// scores.
LabelStatistics facts_of(std::size_t labels, const std::vector<float>& probabilities,
                         const std::vector<std::uint8_t>& targets) {
  LabelStatistics stats;
  stats.probabilities = probabilities;
  stats.targets = targets;
  for (std::size_t i = 0; i < targets.size(); i += labels) {
    MultilabelRecord row{.index = 100 + i / labels, .finite = !std::isnan(probabilities[i])};
    for (std::size_t place = i; place < i + labels; ++place) {
      if (targets[place] == kNotScored) continue;
      ++row.scored;
      if (row.finite && (probabilities[place] > 0.5f) == (targets[place] == 1)) ++row.right;
    }
    stats.rows.push_back(row);
  }
  return stats;
}

void expect_table(const std::optional<Outcomes>& found, const std::string& metric,
                  const std::array<std::int64_t, 4>& counts) {
  EXPECT_EQ(found->metric, metric);
  const ContingencyTable& table = found->table;
  EXPECT_EQ(
      (std::array{table.both_right, table.only_a_right, table.only_b_right, table.neither_right}),
      counts);
}

TEST(MulticlassPair, WantsTheSameSamples) {
  const std::vector<metrics::MulticlassRecord> one(1), two(2);
  expect_error(ErrorKind::internal, {"unequal length"},
               [&] { MulticlassPair({.num_classes = 3}, one, two); });
}

TEST(MultilabelPair, OfTwoClasses) {
  const std::vector<std::uint8_t> targets{1, 0, 1, kNotScored, 0, 1};
  const MultilabelPair pair({.task = "binary", .num_classes = 2, .ignore_index = -1},
                            facts_of(1, {0.75f, 0.75f, 0.5f, 0.75f, 0.25f, 0.25f}, targets),
                            facts_of(1, {0.25f, 0.25f, 0.25f, 0.25f, 0.5f, kNan}, targets));
  expect_table(pair.outcomes(), "accuracy", {1, 1, 1, 2});
  EXPECT_EQ(pair.num_ignored(), 1);
  const auto changes = std::get<ClassChanges>(pair.changes(2));
  EXPECT_EQ(changes.counts.right_to_wrong, 1);
  EXPECT_EQ(changes.counts.wrong_to_right, 1);
  EXPECT_EQ(changes.counts.wrong_to_other_wrong, 1);  // none predicted
  ASSERT_EQ(changes.first.size(), 2U);
  EXPECT_EQ(changes.first[0].index, 100);
  EXPECT_EQ(changes.first[0].label, 1);
  EXPECT_EQ(changes.first[0].a.predicted, 1);
  EXPECT_EQ(changes.first[0].a.confidence, 0.75);
  EXPECT_EQ(changes.first[0].b.predicted, 0);
  EXPECT_EQ(changes.first[0].b.confidence, 0.75);
  const auto last = std::get<ClassChanges>(pair.changes(3)).first.back();
  EXPECT_EQ(last.index, 105);
  EXPECT_EQ(last.b.predicted, -1);
  EXPECT_TRUE(std::isnan(last.b.confidence));
}

TEST(MultilabelPair, OfSeveralLabels) {
  const std::vector<std::uint8_t> targets{1,          0,          0,           //
                                          1,          kNotScored, 0,           //
                                          kNotScored, kNotScored, kNotScored,  //
                                          0,          1,          1};
  const MultilabelPair pair(
      {.task = "multilabel", .num_classes = 3, .ignore_index = 2},
      facts_of(3, {0.9f, 0, 0, 0.9f, 0, 0, 0, 0, 0, 0, 0, 1}, targets),
      facts_of(3, {0.9f, 0, 1, 0.6f, 1, 0, 1, 1, 1, kNan, kNan, kNan}, targets));
  expect_table(pair.outcomes(), "exact_match", {1, 1, 0, 1});
  EXPECT_EQ(pair.num_ignored(), 1);
  const auto changes = std::get<LabelSetChanges>(pair.changes(10));
  EXPECT_EQ(changes.counts.right_to_wrong, 1);
  EXPECT_EQ(changes.counts.wrong_to_other_wrong, 1);
  ASSERT_EQ(changes.first.size(), 2U);  // a label that is not scored is no change
  EXPECT_EQ(changes.first[0].index, 100);
  EXPECT_EQ(changes.first[0].scored, 3);
  EXPECT_THAT(changes.first[0].labels, ElementsAre(0));
  EXPECT_THAT(*changes.first[0].b.labels, ElementsAre(0, 2));
  EXPECT_EQ(changes.first[0].b.right, 2);
  EXPECT_THAT(changes.first[1].labels, ElementsAre(1, 2));
  EXPECT_THAT(*changes.first[1].a.labels, ElementsAre(2));
  EXPECT_EQ(changes.first[1].b.labels, std::nullopt);
  EXPECT_EQ(changes.first[1].b.right, 0);
}

TEST(MultilabelPair, WantsTheSameLabels) {
  EXPECT_THROW(MultilabelPair({.task = "binary", .num_classes = 2}, facts_of(1, {0, 0}, {0, 1}),
                              facts_of(1, {0, 0}, {1, 1})),
               Error);
}

TEST(MultilabelPair, ReplicatesThatLoseALabelMakeNoInterval) {
  // The first label is set once: in a third of the replicates it is gone.
  const std::vector<std::uint8_t> targets{1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0};
  const MultilabelPair pair(
      {.task = "multilabel", .num_classes = 2, .names = {"exact_match", "auroc_macro"}},
      facts_of(2, {0.5f, 0.5f, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0}, targets),
      facts_of(2, {0.9f, 0.5f, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0}, targets));
  const auto metrics = paired_differences(pair, 200, 0);
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[1].name, "auroc_macro");
  EXPECT_TRUE(metrics[1].difference);
  EXPECT_FALSE(metrics[1].interval);
}

RegressionPair values_of(std::vector<float> a, std::vector<float> b,
                         std::vector<std::string> names) {
  return {{.task = "regression", .num_classes = 1, .names = std::move(names)},
          {.indices = {3, 4, 5, 6, 7, 8},
           .targets = {0, 0, 0, 0, 0, 0},
           .a = std::move(a),
           .b = std::move(b)}};
}

TEST(RegressionPair, ListsTheLargestChangesOfTheError) {
  const RegressionPair pair = values_of({1, 2, -1, kNan, kNan, 5}, {-1, 4, 3, 1, kNan, 2}, {"mse"});
  EXPECT_FALSE(pair.outcomes());
  std::vector<bool> finite;
  for (std::int64_t i = 0; i < pair.size(); ++i) finite.push_back(pair.is_finite(Side::b, i));
  EXPECT_EQ(finite, (std::vector<bool>{true, true, true, true, false, true}));
  const auto changes = std::get<ValueChanges>(pair.changes(10));
  EXPECT_EQ(changes.closer, 2);
  EXPECT_EQ(changes.farther, 2);
  std::vector<std::int64_t> indices;
  std::vector<double> sizes;
  for (const ValueChange& change : changes.first) {
    indices.push_back(change.index);
    sizes.push_back(change.change());
  }
  EXPECT_THAT(indices, ElementsAre(6, 8, 4, 5));  // equal changes by index
  EXPECT_THAT(sizes, ElementsAre(-std::numeric_limits<double>::infinity(), -3, 2, 2));
  EXPECT_EQ(std::get<ValueChanges>(pair.changes(1)).first.size(), 1U);
  EXPECT_EQ(std::get<ValueChanges>(pair.changes(1)).total(), 4);
}

TEST(RegressionPair, FiguresOfARunAreOfItsFiniteSamples) {
  const RegressionPair pair = values_of({1, 2, -1, kNan, 0, 1}, {-1, 4, 3, 1, 0, 2}, {"mse"});
  const auto metrics = paired_differences(pair, 20, 0);
  EXPECT_EQ(metrics[0].a, 7.0 / 5);
  EXPECT_EQ(metrics[0].b, 31.0 / 6);
  EXPECT_TRUE(metrics[0].less_is_better);
}

TEST(RegressionPair, RanksAreThoseOfTheCountedSamples) {
  RegressionPair pair({.task = "regression", .num_classes = 1, .names = {"mse", "spearman"}},
                      {.indices = {0, 1, 2, 3},
                       .targets = {1, 2, 3, 4},
                       .a = {1, 20, 300, kNan},
                       .b = {1, 3, 2, 4}});
  const auto metrics = paired_differences(pair, 20, 0);
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[1].name, "spearman");
  EXPECT_EQ(metrics[1].a, 1.0);
  EXPECT_EQ(metrics[1].b, 0.8);
}

}  // namespace
}  // namespace tally::compare
