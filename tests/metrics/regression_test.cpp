// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/base/error.hpp>

#include "family_counters.hpp"
#include "values.hpp"

namespace tally::metrics {
namespace {

constexpr double kDigits = 5e-5;  // doctests print four

Results score(Values values, Definitions definitions = Definitions::torchmetrics) {
  const MetricSet metrics({.task = "regression",
                           .num_classes = values.num_outputs,
                           .names = {"all"},
                           .definitions = definitions});
  exact::State state(metrics.layout());
  add_values(metrics, values, 0, values.size(), 3, state);
  return metrics.finalize(state);
}

std::optional<double> metric(const Results& results, std::string_view name) {
  const MetricValue* metric = results.find(name);
  EXPECT_NE(metric, nullptr) << name;
  return metric == nullptr ? std::nullopt : metric->value;
}

// The examples in torchmetrics' pages.
TEST(Regression, GivesThePublishedExamples) {
  const Results one = score({1, {2.5f, 0, 2, 8}, {3, -0.5f, 2, 7}});
  EXPECT_NEAR(metric(one, "r2").value(), 0.9486, kDigits);
  EXPECT_NEAR(metric(one, "explained_variance").value(), 0.9572, kDigits);
  EXPECT_NEAR(metric(one, "pearson").value(), 0.9849, kDigits);
  EXPECT_NEAR(metric(one, "concordance").value(), 0.9777, kDigits);
  EXPECT_EQ(metric(one, "mae"), 0.5);
  EXPECT_EQ(metric(one, "mse"), 0.375);
  EXPECT_EQ(metric(one, "rmse"), std::sqrt(0.375));

  const Results two = score({2, {0, 2, -1, 2, 8, -5}, {0.5f, 1, -1, 1, 7, -6}});
  EXPECT_NEAR(two.per_class.at(0).value("r2").value(), 0.9654, kDigits);
  EXPECT_NEAR(two.per_class.at(1).value("r2").value(), 0.9082, kDigits);
  EXPECT_NEAR(metric(two, "explained_variance").value(), (0.9677 + 1) / 2, kDigits);

  const Results lin = score({2, {2.5f, 0, 2, 8}, {3, -0.5f, 2, 7}});
  EXPECT_NEAR(lin.per_class.at(0).value("concordance").value(), 0.7273, kDigits);
  EXPECT_NEAR(lin.per_class.at(1).value("concordance").value(), 0.9887, kDigits);

  EXPECT_NEAR(metric(score({1, {0.9f, 15, 1.2e6f}, {1, 10, 1e6f}}), "mape").value(), 0.2667,
              kDigits);
}

TEST(Regression, ConstantTargetsHaveNoSpreadToExplain) {
  const Results wrong = score({1, {1, 2, 3}, {0.1f, 0.1f, 0.1f}});
  EXPECT_EQ(metric(wrong, "r2"), 0.0);
  EXPECT_EQ(metric(wrong, "explained_variance"), 0.0);
  EXPECT_EQ(metric(wrong, "pearson"), std::nullopt);
  EXPECT_EQ(metric(wrong, "concordance"), std::nullopt);

  const Results right = score({1, {0.1f, 0.1f, 0.1f}, {0.1f, 0.1f, 0.1f}});
  EXPECT_EQ(metric(right, "r2"), 1.0);
  EXPECT_EQ(metric(right, "explained_variance"), 1.0);
  EXPECT_EQ(metric(right, "pearson"), std::nullopt);
}

TEST(Regression, OneSampleHasErrorsButNoCorrelation) {
  const Results results = score({1, {3}, {1}});
  EXPECT_EQ(metric(results, "mse"), 4.0);
  EXPECT_EQ(metric(results, "mape"), 2.0);
  EXPECT_EQ(metric(results, "r2"), std::nullopt);
  EXPECT_EQ(metric(results, "explained_variance"), 1.0);
  EXPECT_EQ(metric(results, "pearson"), std::nullopt);
  EXPECT_EQ(metric(results, "concordance"), std::nullopt);
}

// One output without a correlation leaves the average of all without one.
TEST(Regression, AnUndefinedOutputMakesTheAverageUndefined) {
  const Results results = score({2, {1, 1, 2, 1, 4, 1}, {1, 1, 2, 2, 3, 3}});
  EXPECT_TRUE(results.per_class.at(0).value("pearson").has_value());
  EXPECT_EQ(results.per_class.at(1).value("pearson"), std::nullopt);
  EXPECT_EQ(metric(results, "pearson"), std::nullopt);
}

TEST(Regression, KeepsDigitsOfASmallSpreadFarFromZero) {
  // float32 has steps of 8 here; doubles of squared sums would have none left.
  const Results results = score({1, {1e8f, 1e8f + 8, 1e8f + 16}, {1e8f + 8, 1e8f, 1e8f + 16}});
  EXPECT_EQ(metric(results, "mse"), 128.0 / 3);
  EXPECT_EQ(metric(results, "r2"), 0.0);
  EXPECT_EQ(metric(results, "pearson"), 0.5);
}

TEST(Regression, HoldsTheLargestAndTheSmallestValues) {
  using Limits = std::numeric_limits<float>;
  const Results large = score({1, {Limits::max(), Limits::max()}, {Limits::lowest(), 0}});
  EXPECT_EQ(metric(large, "mse"), 2.5 * Limits::max() * Limits::max());
  EXPECT_EQ(metric(large, "mae"), 1.5 * Limits::max());
  const float tiny = Limits::denorm_min();
  const Results small = score({1, {tiny, 0}, {0, tiny}});
  EXPECT_EQ(metric(small, "mse"), double{tiny} * tiny);
  EXPECT_EQ(metric(small, "r2"), -3.0);
  EXPECT_EQ(metric(small, "pearson"), -1.0);
}

TEST(Regression, LeavesOutRowsThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Results results = score({2, {1, 2, nan, 9, 3, 6}, {1, 1, 0, 0, 2, 2}});
  EXPECT_EQ(results.units.count, 3);
  EXPECT_EQ(results.counts.not_finite, 1);
  EXPECT_EQ(results.counts.finite(), 2);
  EXPECT_EQ(results.per_class.at(1).support, 2);
  EXPECT_EQ(results.per_class.at(1).value("mae"), 2.5);
  EXPECT_EQ(metric(results, "mae"), 1.5);
}

TEST(Regression, FollowsScikitLearnWhereAsked) {
  const Values values{2, {1, 5, 1, 5}, {0, 2, 2, 2}};
  EXPECT_EQ(metric(score(values), "rmse"), std::sqrt(5.0));
  EXPECT_EQ(metric(score(values, Definitions::sklearn), "rmse"), 2.0);
  EXPECT_EQ(metric(score(values, Definitions::sklearn), "mape"), (0x1p52 + 0.5 + 1.5 + 1.5) / 4);
}

// As a kernel's lanes share a row.
TEST(Regression, LanesTogetherCountWhatOneDoes) {
  constexpr int kLanes = 8;
  for (const std::int64_t outputs : {1, 2, 7, 8, 9, 30}) {
    const MetricSet metrics({.task = "regression", .num_classes = outputs, .names = {"all"}});
    const Values values = random_values(1, outputs, 3);
    const RegressionRecord row = regression_row(7, values.predictions, values.targets);
    exact::State alone(metrics.layout());
    metrics.update(std::span(&row, 1), alone);
    exact::State shared(metrics.layout());
    const auto add = [counts = shared.values()](std::int64_t offset, std::int64_t value) {
      counts[to_size(offset)] += value;
    };
    for (int lane = 0; lane < kLanes; ++lane) metrics.counters().count(row, add, lane, kLanes);
    shared.canonicalise();
    EXPECT_TRUE(std::ranges::equal(alone.bytes(), shared.bytes())) << outputs << " outputs";
  }
}

TEST(Regression, LanesTogetherFindWhatIsNotFinite) {
  constexpr int kLanes = 8;
  for (std::size_t place = 0; place < 20; ++place) {
    std::vector<float> values(20, -1.5f);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 2.0f}) {
      values[place] = bad;
      int finite = 0;
      for (int lane = 0; lane < kLanes; ++lane) {
        finite += all_finite(values.data(), std::ssize(values), lane, kLanes);
      }
      EXPECT_EQ(finite, std::isfinite(bad) ? kLanes : kLanes - 1);
    }
  }
}

TEST(RegressionPass, TakesOneOutputWithAndWithoutADimension) {
  const MetricSet metrics({.task = "regression", .num_classes = 1});
  const device::Device cpu;
  const device::Stream stream(cpu);
  std::vector<float> predictions{1, 99, 2, 99};  // every other one
  std::vector<float> targets{1, 4};
  TensorView view = contiguous_view(predictions.data(), DType::f32, {2, 1});
  view.strides = {2, 2};
  for (const Shape& shape : {Shape{2}, Shape{2, 1}}) {
    exact::State state(metrics.layout());
    DeviceAccumulator counts(state, stream);
    RegressionBatch batch(2, 1, cpu);
    RegressionPass(metrics).enqueue(0, 2, view, contiguous_view(targets.data(), DType::f32, shape),
                                    counts, batch);
    EXPECT_EQ(metric(metrics.finalize(state), "mae"), 1.0);
    EXPECT_EQ(batch.rows().at(1).predictions[0], 2.0f);
  }
}

TEST(RegressionPass, RefusesWhatIsNotItsForm) {
  const MetricSet metrics({.task = "regression", .num_classes = 2});
  const device::Device cpu;
  const device::Stream stream(cpu);
  exact::State state(metrics.layout());
  DeviceAccumulator counts(state, stream);
  std::vector<float> values(8);
  RegressionBatch batch(2, 2, cpu);
  const auto enqueue = [&](std::int64_t rows, const Shape& predictions, DType dtype,
                           const Shape& targets) {
    RegressionPass(metrics).enqueue(0, rows, contiguous_view(values.data(), dtype, predictions),
                                    contiguous_view(values.data(), DType::f32, targets), counts,
                                    batch);
  };
  EXPECT_NO_THROW(enqueue(2, {2, 2}, DType::f32, {2, 2}));
  EXPECT_THROW(enqueue(2, {2, 1}, DType::f32, {2, 2}), Error);
  EXPECT_THROW(enqueue(2, {2}, DType::f32, {2, 2}), Error);
  EXPECT_THROW(enqueue(2, {2, 2}, DType::f32, {1, 2}), Error);
  EXPECT_THROW(enqueue(2, {2, 2}, DType::i32, {2, 2}), Error);
  EXPECT_THROW(enqueue(3, {4, 2}, DType::f32, {4, 2}), Error) << "more rows than it has room for";
  values[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(enqueue(2, {2, 2}, DType::f32, {2, 2}), Error) << "a target that is not finite";
}

}  // namespace
}  // namespace tally::metrics
