// SPDX-License-Identifier: Apache-2.0
// The paired bootstrap of in-memory rows: what its intervals promise, and what they depend on.
#include "paired_bootstrap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include <tally/base/checked_cast.hpp>

#include "multiclass_pair.hpp"

namespace tally::compare {
namespace {

using metrics::MulticlassRecord;

constexpr std::int64_t kClasses = 3;

MulticlassRecord row_of(std::uint64_t index, std::int64_t label, std::int64_t prediction,
                        double loss) {
  MulticlassRecord row;
  row.index = index;
  row.label = label;
  row.prediction = prediction;
  row.label_rank = row.best_rank = row.worst_rank = label == prediction ? 0 : 1;
  row.loss = loss;
  row.confidence = 0.5;
  return row;
}

// Where the label is l, A and B are right with these probabilities; often both, for their errors
// are correlated.
constexpr std::array<double, kClasses> kRightA{0.6, 0.75, 0.8};
constexpr std::array<double, kClasses> kRightB{0.7, 0.7, 0.9};
// A wrong prediction is the next class. Losses have the means 1 and 1.25.
constexpr double kLossDifference = 0.25;

struct Rows {
  std::vector<MulticlassRecord> a, b;
};

Rows random_rows(std::int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::exponential_distribution<double> exponential;
  std::uniform_int_distribution<std::int64_t> any_label(0, kClasses - 1);
  Rows rows;
  for (std::uint64_t i = 0; i < to_size(size); ++i) {
    const std::int64_t label = any_label(random);
    const double shared = uniform(random);
    const double own = uniform(random) < 0.5 ? shared : uniform(random);
    const double loss = exponential(random);
    const auto predicted = [&](double place, double right) {
      return place < right ? label : (label + 1) % kClasses;
    };
    rows.a.push_back(row_of(i, label, predicted(shared, kRightA[to_size(label)]), loss));
    rows.b.push_back(row_of(i, label, predicted(own, kRightB[to_size(label)]),
                            0.5 * loss + 0.75 * exponential(random)));
  }
  return rows;
}

// F1 over all samples there could be, of a model that is right so often.
double true_f1_macro(const std::array<double, kClasses>& right) {
  double sum = 0;
  for (std::size_t c = 0; c < right.size(); ++c) {
    const std::size_t before = (c + right.size() - 1) % right.size();
    sum += 2 * right[c] / (1 + right[c] + (1 - right[before]));
  }
  return sum / static_cast<double>(right.size());
}

double mean(const std::array<double, kClasses>& values) {
  return (values[0] + values[1] + values[2]) / 3;
}

MulticlassPair pair_of(Rows rows, std::vector<std::string> names) {
  return {
      {.num_classes = kClasses, .names = std::move(names)}, std::move(rows.a), std::move(rows.b)};
}

TEST(PairedBootstrap, IntervalsHoldTheTruthAsOftenAsTheySay) {
  constexpr int kSimulations = 400;
  const std::map<std::string, double> truths{
      {"accuracy", mean(kRightB) - mean(kRightA)},
      {"f1_macro", true_f1_macro(kRightB) - true_f1_macro(kRightA)},
      {"loss", kLossDifference}};
  std::map<std::string, int> held;
  int held_by_newcombe = 0;
  for (int simulation = 0; simulation < kSimulations; ++simulation) {
    const MulticlassPair pair = pair_of(random_rows(300, static_cast<unsigned>(simulation)),
                                        {"accuracy", "f1_macro", "loss"});
    for (const MetricDifference& metric : paired_differences(pair, 200, simulation)) {
      const double truth = truths.at(metric.name);
      held[metric.name] += metric.interval->low <= truth && truth <= metric.interval->high;
    }
    const auto interval = difference_interval(pair.outcomes()->table).value();
    const double truth = truths.at("accuracy");
    held_by_newcombe += interval.low <= truth && truth <= interval.high;
  }
  // Of 400 draws with probability 0.95, fewer than 362 or more than 394 come once in 10,000 times
  // on either side. Percentiles of 200 replicates cover about 0.94: from 0.935 on, below 354.
  for (const auto& [metric, count] : held) {
    EXPECT_GE(count, 354) << metric;
    EXPECT_LE(count, 394) << metric;
  }
  EXPECT_GE(held_by_newcombe, 362);
  EXPECT_LE(held_by_newcombe, 394);
}

TEST(PairedBootstrap, PairsNarrowTheInterval) {
  Rows rows = random_rows(500, 1);
  const auto paired = paired_differences(pair_of(rows, {"loss"}), 300, 0);
  // The same values, but B's belong to other samples.
  std::vector<double> losses;
  for (const MulticlassRecord& row : rows.b) losses.push_back(row.loss);
  std::shuffle(losses.begin(), losses.end(), std::mt19937(2));
  for (std::size_t i = 0; i < losses.size(); ++i) rows.b[i].loss = losses[i];
  const auto shuffled = paired_differences(pair_of(rows, {"loss"}), 300, 0);
  EXPECT_NEAR(*paired[0].difference, *shuffled[0].difference, 1e-12);
  const auto width = [](const MetricDifference& metric) {
    return metric.interval->high - metric.interval->low;
  };
  EXPECT_LT(width(paired[0]), 0.9 * width(shuffled[0]));
}

TEST(PairedBootstrap, ARunDiffersFromItselfByExactlyNothing) {
  Rows rows = random_rows(200, 3);
  rows.b = rows.a;
  const auto metrics = paired_differences(pair_of(rows, {}), 100, 0);
  EXPECT_GT(metrics.size(), 15U);
  for (const MetricDifference& metric : metrics) {
    EXPECT_EQ(metric.difference, 0.0) << metric.name;
    EXPECT_EQ(metric.interval->low, 0) << metric.name;
    EXPECT_EQ(metric.interval->high, 0) << metric.name;
    EXPECT_FALSE(metric.better()) << metric.name;
  }
}

TEST(PairedBootstrap, DependsOnTheSeedAndOnNothingElse) {
  const auto differences = [](std::int64_t seed) {
    return paired_differences(pair_of(random_rows(5000, 4), {"f1_macro"}), 50, seed);
  };
  EXPECT_EQ(differences(7)[0].interval->low, differences(7)[0].interval->low);
  EXPECT_NE(differences(7)[0].interval->low, differences(8)[0].interval->low);
}

TEST(PairedBootstrap, KnowsWhichDirectionIsBetter) {
  for (const MetricDifference& metric :
       paired_differences(pair_of(random_rows(5000, 5), {"f1_macro", "loss"}), 100, 0)) {
    EXPECT_EQ(metric.less_is_better, metric.name == "loss");
    EXPECT_EQ(metric.better(), metric.name == "loss" ? Side::a : Side::b) << metric.name;
  }
}

TEST(PairedBootstrap, WhatReplicatesLeaveUndefinedHasNoInterval) {
  // kappa is undefined where all samples are of one class and predicted so: in most replicates the
  // one other sample is away.
  Rows rows;
  for (std::uint64_t i = 0; i < 20; ++i) {
    rows.a.push_back(row_of(i, i == 0 ? 1 : 0, i == 0 ? 1 : 0, 1));
  }
  rows.b = rows.a;
  rows.b[5].prediction = 2;
  rows.b[5].label_rank = rows.b[5].best_rank = rows.b[5].worst_rank = 1;
  const auto kappa = paired_differences(pair_of(rows, {"cohen_kappa"}), 200, 0)[0];
  EXPECT_TRUE(kappa.difference);
  EXPECT_FALSE(kappa.interval);
  EXPECT_FALSE(kappa.better());
}

TEST(PairedBootstrap, NoScoredSamples) {
  Rows rows = random_rows(10, 6);
  for (MulticlassRecord& row : rows.a) row.ignored = true;
  rows.b = rows.a;
  const MulticlassPair pair = pair_of(rows, {"accuracy"});
  EXPECT_FALSE(paired_differences(pair, 10, 0)[0].difference);
  EXPECT_EQ(pair.outcomes()->table.total(), 0);
  EXPECT_EQ(pair.num_ignored(), 10);
  EXPECT_EQ(std::get<ClassChanges>(pair.changes(10)).total(), 0);
}

}  // namespace
}  // namespace tally::compare
