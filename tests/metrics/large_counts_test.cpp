// SPDX-License-Identifier: Apache-2.0
// More samples than float32 can count: nothing stalls and nothing overflows.
#include <gtest/gtest.h>

#include <string>

#include "rows.hpp"

namespace tally::metrics {
namespace {

std::int64_t& counter(exact::State& state, const std::string& span, std::int64_t place = 0) {
  return state.of(state.layout().find(span))[to_size(place)];
}

// A float32 counter stands still at 2^24, and 10^9 - 1 is no float32.
TEST(LargeCounts, OneWrongSampleInAThousandMillionIsSeen) {
  constexpr std::int64_t kAll = 1'000'000'000;
  const MetricSet metrics(
      {.num_classes = 3, .names = {"accuracy", "balanced_accuracy", "f1_micro", "mcc"}});
  exact::State state(metrics.layout());
  counter(state, "coverage.count") = kAll;
  for (std::int64_t bound = 0; bound < 3; ++bound) {
    counter(state, "top_k.hits", bound) = kAll - 1;
  }
  counter(state, "classes.support", 0) = kAll - 1;
  counter(state, "classes.support", 1) = 1;
  counter(state, "classes.predicted", 0) = kAll - 2;
  counter(state, "classes.predicted", 1) = 2;
  counter(state, "classes.correct", 0) = kAll - 2;
  counter(state, "classes.correct", 1) = 1;

  const Results results = metrics.finalize(state);

  EXPECT_EQ(results.find("accuracy")->value, 0.999999999);
  EXPECT_EQ(results.find("f1_micro")->value, 0.999999999);
  EXPECT_DOUBLE_EQ(results.find("balanced_accuracy")->value.value(),
                   (1 + 999999998.0 / 999999999) / 2);
  // sqrt(1/2) but for a share of 10^-9 or so.
  EXPECT_NEAR(results.find("mcc")->value.value(), 0.70710678, 1e-8);
}

MetricOptions everything() {
  MetricOptions options{.num_classes = 6, .ignore_index = 2, .names = {"all"}};
  options.class_weights = {1, 2, 0.5, 3, 1, 0};
  return options;
}

// Merged with itself 40 times, the state stands for 2^40 times the samples: every metric is a ratio
// and stays what it was.
TEST(LargeCounts, TwoToTheFortyCopiesHaveTheSameMetrics) {
  const MetricSet metrics(everything());
  Samples samples = random_samples(101, 6, 3);
  exact::State state(metrics.layout());
  add_samples(metrics, samples, 0, samples.size(), 2, state);
  const Results few = metrics.finalize(state);
  for (int i = 0; i < 40; ++i) state.merge(state);

  const Results many = metrics.finalize(state);

  EXPECT_EQ(many.units.count, std::int64_t{101} << 40);
  ASSERT_EQ(many.metrics.size(), few.metrics.size());
  for (std::size_t i = 0; i < few.metrics.size(); ++i) {
    ASSERT_TRUE(few.metrics[i].value) << few.metrics[i].name;
    EXPECT_NEAR(many.metrics[i].value.value(), few.metrics[i].value.value(), 1e-14)
        << few.metrics[i].name;
  }
  EXPECT_EQ(many.find("brier")->value, few.find("brier")->value) << "the same bits";
  for (std::size_t c = 0; c < few.per_class.size(); ++c) {
    EXPECT_EQ(many.per_class[c].support, few.per_class[c].support << 40);
    EXPECT_EQ(many.per_class[c].value("precision"), few.per_class[c].value("precision"));
  }
  const auto& narrow = many.find("accuracy")->interval.value();
  EXPECT_LT(narrow.high - narrow.low, 1e-6);
}

// One class has nearly all samples: sums of class^2 * count nearly cancel. The value is that of
// exact fractions.
TEST(LargeCounts, QuadraticKappaOfVeryUnequalClasses) {
  const MetricSet metrics(
      {.num_classes = 5, .confusion_max_classes = 0, .names = {"cohen_kappa_quadratic"}});
  const auto state_of = [&](std::int64_t label, std::size_t prediction) {
    Samples sample{5, std::vector<float>(5), {label}};
    sample.scores[prediction] = 1;
    exact::State state(metrics.layout());
    add_samples(metrics, sample, 0, 1, std::nullopt, state);
    return state;
  };
  exact::State state = state_of(4, 4);
  for (int i = 0; i < 27; ++i) state.merge(exact::State(state));
  for (int i = 0; i < 3; ++i) state.merge(state_of(3, 3));
  for (int i = 0; i < 2; ++i) state.merge(state_of(3, 4));
  EXPECT_NEAR(metrics.finalize(state).find("cohen_kappa_quadratic")->value.value(),
              0.7499999930150808, 1e-15);
}

}  // namespace
}  // namespace tally::metrics
