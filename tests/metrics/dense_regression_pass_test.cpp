// SPDX-License-Identifier: Apache-2.0
// Sums over the pixels of images against the same values as samples of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/precomputed_updates.hpp>
#include <tally/metrics/regression_pass.hpp>

#include "expect_error.hpp"
#include "values.hpp"

namespace tally::metrics {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::int64_t kPixels = 35;  // of an image

MetricOptions options(bool maps, std::vector<std::string> names = {"all"}) {
  return {.task = "regression", .num_classes = 1, .names = std::move(names), .maps = maps};
}

std::span<const float> image(const std::vector<float>& values, std::int64_t i) {
  return std::span(values).subspan(to_size(i * kPixels), to_size(kPixels));
}

Results score_maps(const Values& values) {
  const MetricSet metrics(options(true));
  exact::State state(metrics.layout());
  MapSums sums(metrics);
  for (std::int64_t i = 0; i < values.size() / kPixels; ++i) {
    const DenseRegressionRecord row = sums.count(
        static_cast<std::uint64_t>(i), image(values.predictions, i), image(values.targets, i));
    metrics.update(std::span(&row, 1), state);
  }
  return metrics.finalize(state);
}

Results score_values(Values values) {
  std::vector<std::string> names = MetricSet(options(true)).options().names;
  const MetricSet metrics(options(false, names));
  exact::State state(metrics.layout());
  add_values(metrics, values, 0, values.size(), 16, state);
  return metrics.finalize(state);
}

TEST(DenseRegressionPass, MetricsAreThoseOfThePixelsThatAreScored) {
  Values values = random_values(20 * kPixels, 1, 11);
  Values flat{1, {}, {}};
  for (std::size_t i = 0; i < values.targets.size(); ++i) {
    const bool is_scored = i % 3 != 0 && i / to_size(kPixels) != 4;
    if (is_scored) {
      flat.predictions.push_back(values.predictions[i]);
      flat.targets.push_back(values.targets[i]);
    } else {
      values.targets[i] = kNan;
      if (i % 2 == 0) values.predictions[i] = i % 4 == 0 ? kInf : kNan;
    }
  }
  const Results maps = score_maps(values);
  const Results plain = score_values(flat);
  EXPECT_EQ(maps.units.count, 20);
  EXPECT_EQ(maps.counts.not_finite, 0);
  EXPECT_EQ(maps.counts.scored, 19);
  ASSERT_EQ(maps.metrics.size(), plain.metrics.size());
  for (std::size_t m = 0; m < maps.metrics.size(); ++m) {
    EXPECT_EQ(maps.metrics[m].name, plain.metrics[m].name);
    EXPECT_EQ(maps.metrics[m].value, plain.metrics[m].value) << maps.metrics[m].name;
    EXPECT_TRUE(maps.metrics[m].value.has_value());
  }
  EXPECT_EQ(maps.per_class.at(0).support, std::ssize(flat.targets));
}

TEST(DenseRegressionPass, AnImageSaysWhatItIs) {
  const MetricSet metrics(options(true));
  MapSums sums(metrics);
  const std::vector<float> targets{1, kNan, 4};
  DenseRegressionRecord row = sums.count(7, std::vector<float>{3, kInf, 1}, targets);
  EXPECT_EQ(row.index, 7U);
  EXPECT_TRUE(row.finite && !row.ignored);
  EXPECT_EQ(row.num_pixels, 2);
  EXPECT_EQ(row.loss, 6.5);
  EXPECT_EQ(row.num_sums, sums.num_sums());

  row = sums.count(8, std::vector<float>{3, 2, kNan}, targets);
  EXPECT_TRUE(!row.finite && !row.ignored);
  EXPECT_EQ(row.num_pixels, 2);
  EXPECT_TRUE(std::isnan(row.loss));

  row = sums.count(9, std::vector<float>{3, kInf, 1}, std::vector<float>(3, kNan));
  EXPECT_TRUE(row.finite && row.ignored);
  EXPECT_EQ(row.num_pixels, 0);
  EXPECT_TRUE(std::isnan(row.loss));
  EXPECT_EQ(sums.count(1, {}, {}).num_pixels, 0);
  expect_error(ErrorKind::internal, {"2 predictions for 3 pixels"},
               [&] { sums.count(1, std::vector<float>(2), targets); });
}

// Sums are carried now and then.
TEST(DenseRegressionPass, TakesImagesOfAnySize) {
  constexpr std::size_t kLarge = (std::size_t{1} << 20) + 5;
  const MetricSet metrics(options(true, {"mse", "mae"}));
  std::vector<float> predictions(kLarge, 1), targets(kLarge, 1);
  predictions.front() = 3;
  predictions.back() = -1;
  exact::State state(metrics.layout());
  MapSums sums(metrics);
  DenseRegressionRecord row = sums.count(0, predictions, targets);
  metrics.update(std::span(&row, 1), state);
  const Results results = metrics.finalize(state);
  constexpr auto kCount = static_cast<double>(kLarge);
  EXPECT_EQ(results.find("mse")->value, 8 / kCount);
  EXPECT_EQ(results.find("mae")->value, 4 / kCount);
  EXPECT_EQ(row.loss, 8 / kCount);
  EXPECT_LT(*std::max_element(row.sums, row.sums + row.num_sums), std::int64_t{1} << 32);
  predictions.back() = kNan;
  row = sums.count(0, predictions, targets);
  EXPECT_FALSE(row.finite);
  EXPECT_EQ(row.num_pixels, std::ssize(targets));
  EXPECT_EQ(std::count(row.sums + 1, row.sums + row.num_sums, 0), row.num_sums - 1);
}

TEST(DenseRegressionPass, WithoutPixelsNothingIsDefined) {
  const Results none = score_maps({1, {}, {}});
  const Results ignored =
      score_maps({1, std::vector<float>(kPixels), std::vector<float>(kPixels, kNan)});
  for (const Results* results : {&none, &ignored}) {
    for (const MetricValue& metric : results->metrics) EXPECT_FALSE(metric.value) << metric.name;
  }
  EXPECT_EQ(ignored.counts.scored, 0);
}

TEST(DenseRegressionPass, KeptSumsCountAsTheImages) {
  const MetricSet metrics(options(true));
  const Values values = random_values(4 * kPixels, 1, 5);
  MapSums sums(metrics);
  exact::State expected(metrics.layout());
  std::vector<std::vector<std::int64_t>> kept;
  std::vector<DenseRegressionRecord> rows;
  for (std::int64_t i = 0; i < 4; ++i) {
    std::vector<float> predictions(image(values.predictions, i).begin(),
                                   image(values.predictions, i).end());
    if (i == 2) predictions[3] = kNan;
    const DenseRegressionRecord row = sums.count(5, predictions, image(values.targets, i));
    kept.emplace_back(row.sums, row.sums + row.num_sums);
    rows.push_back(retained_dense_regression_record(kept.back(), row.finite));
    for (int twice = 0; twice < (i == 1 ? 3 : 1); ++twice) {
      metrics.update(std::span(&row, 1), expected);
    }
  }
  exact::State again(metrics.layout());
  const std::vector<std::uint8_t> weights{1, 3, 1, 1};
  PrecomputedUpdates(metrics, rows).count(weights, again);
  const Results one = metrics.finalize(expected), other = metrics.finalize(again);
  EXPECT_EQ(other.counts.not_finite, 1);
  EXPECT_EQ(other.per_class.at(0).support, 5 * kPixels);
  ASSERT_EQ(one.metrics.size(), other.metrics.size());
  for (std::size_t m = 0; m < one.metrics.size(); ++m) {
    EXPECT_EQ(one.metrics[m].value, other.metrics[m].value);
  }
}

TEST(DenseRegressionPass, PixelsHaveNoRanks) {
  const auto names = MetricSet(options(true)).options().names;
  EXPECT_EQ(std::ranges::count(names, "spearman"), 0);
  EXPECT_EQ(std::ranges::count(names, "concordance"), 1);
  expect_error(ErrorKind::usage, {"metric 'spearman' would put every pixel", "Leave it out"},
               [] { MetricSet(options(true, {"spearman"})); });
  expect_error(ErrorKind::internal, {"sums over pixels"}, [] {
    const MetricSet metrics(options(false));
    MapSums{metrics};
  });
}

}  // namespace
}  // namespace tally::metrics
