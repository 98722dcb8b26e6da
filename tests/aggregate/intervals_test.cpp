// SPDX-License-Identifier: Apache-2.0
// Intervals of the bootstrap, against replicates that are counted one by one here: sample i occurs
// PoissonWeights(seed, replicate).of(i) times.
#include <cmath>

#include <tally/aggregate/global_result.hpp>
#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/metrics/poisson_weight.hpp>

#include "aggregate_fixture.hpp"
#include "bootstrap_and_subgroup_metrics.hpp"
#include "order_based_metrics.hpp"
#include "sample_file.hpp"
#include "target_file.hpp"

namespace tally::app {
namespace {

constexpr std::uint64_t kSeed = 7, kReplicates = 41;

// Linear between the two nearest, as numpy.percentile.
double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

// What `value_of_replicate` makes of each one's weights of so many samples.
using Weights = std::vector<double>;
std::vector<double> replicates(std::uint64_t num_samples,
                               const std::function<double(const Weights&)>& value_of_replicate) {
  std::vector<double> values;
  for (std::uint64_t replicate = 0; replicate < kReplicates; ++replicate) {
    const metrics::PoissonWeights of_replicate(kSeed, replicate);
    Weights weights;
    for (std::uint64_t i = 0; i < num_samples; ++i) {
      weights.push_back(static_cast<double>(of_replicate.of(i)));
    }
    values.push_back(value_of_replicate(weights));
  }
  return values;
}

void expect_interval(const metrics::Results& results, std::string_view name,
                     const std::vector<double>& values) {
  const metrics::MetricValue* const found = results.find(name);
  ASSERT_NE(found, nullptr);
  ASSERT_TRUE(found->interval.has_value());
  EXPECT_EQ(found->interval->method, "bootstrap");
  EXPECT_DOUBLE_EQ(found->interval->low, percentile(values, 0.025));
  EXPECT_DOUBLE_EQ(found->interval->high, percentile(values, 0.975));
}

class IntervalsTest : public AggregateTest {
 protected:
  IntervalsTest() {
    config_.results.seed = kSeed;
    config_.results.bootstrap_replicas = kReplicates;
  }
};

TEST_F(IntervalsTest, SamplesAreDrawnByTheirIndex) {
  const std::vector<double> errors{1, 0, 2, -3, 0, 4, 1, 1, -2, 5, 0, 1};
  const std::vector<float> predictions(errors.begin(), errors.end());
  const auto expected = replicates(12, [&](const Weights& weights) {
    double squares = 0, count = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      squares += weights[i] * errors[i] * errors[i];
      count += weights[i];
    }
    return squares / count;
  });
  for (const std::int64_t batch_size : {1, 5}) {
    batch_size_ = batch_size;
    const auto session = open(data::regression_file(1, std::vector<float>(12)),
                              {.metrics = {.names = {"mse"}}, .keep_rows = true});
    LocalUnits local(score(session, predictions));
    auto results = merge_results(world(), session, local).results;
    add_bootstrap(world(), session, local, results);
    if (world().is_root()) {
      expect_interval(results, "mse", expected);
    } else {
      EXPECT_FALSE(results.find("mse")->interval.has_value());
    }
  }
}

// Documents of two windows each: as one, not window by window.
TEST_F(IntervalsTest, UnitsAreDrawnAsAWhole) {
  const auto file = documents(12, 2);
  std::vector<double> losses;
  for (int i = 0; i < 24; ++i) losses.push_back(0.25 * i * i);
  const auto session = open(file, {.metrics = {.names = {"loss"}}, .keep_rows = true});
  auto local = join_units(world(), session, retain(session, records_of(file, losses)));
  auto results = merge_results(world(), session, local).results;
  add_bootstrap(world(), session, local, results);
  if (!world().is_root()) return;
  expect_interval(results, "loss", replicates(12, [&](const Weights& weights) {
                    double loss = 0, tokens = 0;
                    for (std::size_t unit = 0; unit < 12; ++unit) {
                      loss += weights[unit] * (losses[2 * unit] + losses[2 * unit + 1]);
                      tokens += weights[unit] * 4;
                    }
                    return loss / tokens;
                  }));
}

TEST_F(IntervalsTest, AMetricThatMostReplicatesLackHasNone) {
  const auto file = documents(1, 1);  // a third of all replicates do not draw it
  const auto session = open(file, {.metrics = {.names = {"loss"}}, .keep_rows = true});
  auto local = join_units(world(), session, retain(session, records_of(file, {1})));
  auto results = merge_results(world(), session, local).results;
  add_bootstrap(world(), session, local, results);
  EXPECT_EQ(value_of(results, "loss"), 0.5);
  EXPECT_FALSE(results.find("loss")->interval.has_value());
}

TEST_F(IntervalsTest, ProportionsKeepWilsons) {
  const auto session = open(data::SampleFile{.num_samples = 23},
                            {.metrics = {.names = {"accuracy", "loss"}}, .keep_rows = true});
  std::vector<float> scores(23 * 5);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * i % 11);
  LocalUnits local(score(session, scores));
  auto results = merge_results(world(), session, local).results;
  add_bootstrap(world(), session, local, results);
  EXPECT_EQ(results.find("accuracy")->interval.value().method, "wilson");
  if (!world().is_root()) return;
  EXPECT_EQ(results.find("loss")->interval.value().method, "bootstrap");
}

TEST_F(IntervalsTest, OfCurvesAreThoseOfWeightedPairs) {
  const std::vector<std::int64_t> labels{1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0};
  const std::vector<float> scores{2, 1, 0, 0, -1, 3, 1, 2, -2, -1, 0, 3, 2, 1, -3, -3};
  const auto session = open(data::binary_file(labels), {.metrics = {.names = {"auroc"}}});
  const LocalUnits local(score(session, scores));
  const auto curves = count_all_curves(world(), session, local);
  metrics::Results results;
  results.counts.scored = 16;
  add_curve_metrics(session, curves, results);
  add_curve_intervals(world(), session, local, curves, results);
  expect_interval(results, "auroc", replicates(16, [&](const Weights& weights) {
                    double won = 0, pairs = 0;
                    for (std::size_t i = 0; i < 16; ++i) {
                      for (std::size_t j = 0; j < 16; ++j) {
                        if (labels[i] == 0 || labels[j] == 1) continue;
                        const double pair = weights[i] * weights[j];
                        pairs += pair;
                        if (scores[i] > scores[j]) won += pair;
                        if (scores[i] == scores[j]) won += pair / 2;
                      }
                    }
                    return won / pairs;
                  }));
}

TEST_F(IntervalsTest, APerfectOrderIsPerfectInEveryReplicate) {
  const std::vector<float> targets{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<float> predictions;
    for (const float target : targets) predictions.push_back(sign * target * target);
    const auto session =
        open(data::regression_file(1, targets), {.metrics = {.names = {"spearman"}}});
    const LocalUnits local(score(session, predictions));
    metrics::Results results;
    add_spearman(sum_all_spearman(world(), session, local), results);
    EXPECT_EQ(value_of(results, "spearman"), sign);
    add_spearman_intervals(world(), session, local, results);
    expect_interval(results, "spearman", std::vector<double>(kReplicates, sign));
  }
}

TEST_F(IntervalsTest, NeedAValueAndEnoughReplicates) {
  config_.results.bootstrap_replicas = 4;
  const EvaluationSession session(config_);
  const Replicates given{
      {"a", {4, 1, 3, 2}}, {"b", {1, 2, 3}}, {"c", {1, 2, 3, 4}}, {"d", {1, 2, 3, 4}}};
  metrics::Results results;
  results.metrics = {{.name = "a", .value = 2},
                     {.name = "b", .value = 2},
                     {.name = "c", .value = std::nullopt},
                     {.name = "d", .value = 2},
                     {.name = "e", .value = 2}};
  results.metrics[3].interval = metrics::Interval{0.25, 0.5, "wilson"};
  add_intervals(session, given, results);
  // 0.025 of the way from the first to the last of four: 0.075 of the first step.
  EXPECT_DOUBLE_EQ(results.metrics[0].interval.value().low, 1.075);
  EXPECT_DOUBLE_EQ(results.metrics[0].interval.value().high, 3.925);
  EXPECT_FALSE(results.metrics[1].interval.has_value()) << "three of four are too few";
  EXPECT_FALSE(results.metrics[2].interval.has_value());
  EXPECT_EQ(results.metrics[3].interval.value().low, 0.25);
  EXPECT_FALSE(results.metrics[4].interval.has_value());
}

}  // namespace
}  // namespace tally::app
