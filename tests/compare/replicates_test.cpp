// SPDX-License-Identifier: Apache-2.0
// Intervals of the paired bootstrap against the plain recipe of docs/metrics.md: samples drawn so
// often as their weight says, a figure of those, percentiles of the differences.
#include <gmock/gmock.h>

#include <random>

#include <tally/metrics/poisson_weight.hpp>

#include "multilabel_pair.hpp"
#include "paired_bootstrap.hpp"
#include "regression_pair.hpp"

namespace tally::compare {
namespace {

using Rows = std::vector<std::size_t>;

constexpr std::int64_t kSeed = 11;

// Rows of a replicate, each as often as its sample is drawn.
Rows drawn(const std::vector<std::int64_t>& indices, std::uint64_t replicate) {
  const metrics::PoissonWeights weights(kSeed, replicate);
  Rows rows;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    rows.insert(rows.end(),
                static_cast<std::size_t>(weights.of(static_cast<std::uint64_t>(indices[i]))), i);
  }
  return rows;
}

double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

using Figure = std::function<double(Side side, const Rows& rows)>;

void expect_interval(const PairedSamples& pair, const std::vector<std::int64_t>& indices,
                     std::int64_t replicates, const Figure& figure) {
  const auto found = paired_differences(pair, replicates, kSeed);
  ASSERT_EQ(found.size(), 1U);
  Rows all(indices.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_NEAR(found[0].a.value(), figure(Side::a, all), 1e-12);
  EXPECT_NEAR(found[0].b.value(), figure(Side::b, all), 1e-12);
  std::vector<double> differences;
  for (std::int64_t r = 0; r < replicates; ++r) {
    const Rows rows = drawn(indices, static_cast<std::uint64_t>(r));
    differences.push_back(figure(Side::b, rows) - figure(Side::a, rows));
  }
  EXPECT_NEAR(found[0].interval.value().low, percentile(differences, 0.025), 1e-12);
  EXPECT_NEAR(found[0].interval.value().high, percentile(differences, 0.975), 1e-12);
}

// Samples whose indices have gaps: weights are of samples, not of rows. Small numbers, so that many
// are tied.
PairedValues random_values(std::int64_t samples) {
  std::mt19937 random(3);
  PairedValues values;
  const auto number = [&] { return static_cast<float>(random() % 8) / 4; };
  for (std::int64_t i = 0; i < samples; ++i) {
    values.indices.push_back(5 + 3 * i);
    const float target = number();
    values.targets.push_back(target);
    values.a.push_back(target + number());
    values.b.push_back(target - number());
  }
  return values;
}

RegressionPair pair_of(const PairedValues& values, const std::string& metric) {
  return {{.task = "regression", .num_classes = 1, .names = {metric}}, values};
}

double squared_error(const PairedValues& values, Side side, const Rows& rows) {
  double sum = 0;
  for (const std::size_t i : rows) {
    const double error = (side == Side::a ? values.a : values.b)[i] - values.targets[i];
    sum += error * error;
  }
  return sum / static_cast<double>(rows.size());
}

TEST(Replicates, OfAMeanAreMeansOfDrawnSamples) {
  const PairedValues values = random_values(60);
  expect_interval(pair_of(values, "mse"), values.indices, 40,
                  [&](Side side, const Rows& rows) { return squared_error(values, side, rows); });
}

// They are counted in windows of at most 2048 samples.
TEST(Replicates, OfManySamplesAreTheSame) {
  const PairedValues values = random_values(4500);
  expect_interval(pair_of(values, "mse"), values.indices, 5,
                  [&](Side side, const Rows& rows) { return squared_error(values, side, rows); });
}

TEST(Replicates, OfOneSampleAreUndefinedWhereItIsNotDrawn) {
  // In exp(-1) of the replicates there is no sample at all.
  const auto found = paired_differences(pair_of(random_values(1), "mse"), 100, kSeed);
  EXPECT_TRUE(found[0].difference);
  EXPECT_FALSE(found[0].interval);
}

// Ranks with ties sharing the mean of their places.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto less = std::ranges::count_if(values, [&](double other) { return other < value; });
    const auto equal = std::ranges::count(values, value);
    ranks.push_back(static_cast<double>(less) + static_cast<double>(equal + 1) / 2);
  }
  return ranks;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean(x), dy = y[i] - mean(y);
    xy += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  return xy / std::sqrt(xx * yy);
}

TEST(Replicates, OfARankCorrelationRankTheDrawnSamples) {
  const PairedValues values = random_values(40);
  expect_interval(pair_of(values, "spearman"), values.indices, 30,
                  [&](Side side, const Rows& rows) {
                    std::vector<double> predictions, targets;
                    for (const std::size_t i : rows) {
                      predictions.push_back((side == Side::a ? values.a : values.b)[i]);
                      targets.push_back(values.targets[i]);
                    }
                    return correlation(ranks_of(predictions), ranks_of(targets));
                  });
}

// The share of pairs of a positive and a negative that are in order, ties counting half.
double pairs_in_order(const metrics::LabelStatistics& stats, const Rows& rows) {
  double in_order = 0, pairs = 0;
  for (const std::size_t i : rows) {
    for (const std::size_t j : rows) {
      if (stats.targets[i] != 1 || stats.targets[j] != 0) continue;
      const float above = stats.probabilities[i], below = stats.probabilities[j];
      in_order += above > below ? 1 : above == below ? 0.5 : 0;
      pairs += 1;
    }
  }
  return in_order / pairs;
}

metrics::LabelStatistics random_facts(const std::vector<std::int64_t>& indices, unsigned seed) {
  std::mt19937 random(seed);
  metrics::LabelStatistics stats;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    // Every seventh is not scored; of the others every third is positive.
    stats.targets.push_back(i % 7 == 0 ? metrics::kNotScored : i % 3 == 0 ? 1 : 0);
    stats.probabilities.push_back(static_cast<float>(random() % 8 + (i % 3 == 0 ? 2 : 0)) / 16);
    stats.rows.push_back(
        {.index = static_cast<std::uint64_t>(indices[i]), .scored = i % 7 == 0 ? 0 : 1});
  }
  return stats;
}

TEST(Replicates, OfACurveOrderTheDrawnSamples) {
  std::vector<std::int64_t> indices(60);
  std::iota(indices.begin(), indices.end(), std::int64_t{100});
  const auto a = random_facts(indices, 1), b = random_facts(indices, 2);
  const MultilabelPair pair({.task = "binary", .num_classes = 2, .names = {"auroc"}}, a, b);
  // accuracy is counted always, for other figures are made of it: it is not listed.
  expect_interval(pair, indices, 30, [&](Side side, const Rows& rows) {
    return pairs_in_order(side == Side::a ? a : b, rows);
  });
}

}  // namespace
}  // namespace tally::compare
