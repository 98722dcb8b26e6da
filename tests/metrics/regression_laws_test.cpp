// The laws of laws_test.cpp for the metrics of a regression.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "values.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kOutputs = 3;

MetricOptions options_for(const std::string& metric) {
  return {.task = "regression", .num_classes = kOutputs, .names = {metric}};
}

class RegressionLaws : public testing::TestWithParam<std::string> {
 protected:
  exact::State fresh() const { return exact::State(metrics_.layout()); }

  exact::State part(std::int64_t first, std::int64_t count, std::int64_t batch) {
    exact::State state = fresh();
    add_values(metrics_, values_, first, count, batch, state);
    return state;
  }

  static bool same_bits(const exact::State& a, const exact::State& b) {
    return std::ranges::equal(a.bytes(), b.bytes());
  }

  MetricSet metrics_{options_for(GetParam())};
  Values values_ = random_values(211, kOutputs, 5);
};

TEST_P(RegressionLaws, AnySplitMergedInAnyOrderIsTheSameBits) {
  const exact::State whole = part(0, values_.size(), values_.size());
  std::mt19937 random(1);
  for (const std::int64_t parts : {1, 2, 3, 5, 8, 64, 300}) {
    std::vector<exact::State> states;
    for (std::int64_t k = 0; k < parts; ++k) {
      const std::int64_t first = values_.size() * k / parts;
      states.push_back(part(first, values_.size() * (k + 1) / parts - first, 1 + k % 9));
    }
    std::shuffle(states.begin(), states.end(), random);
    exact::State merged = fresh();
    for (const exact::State& state : states) merged.merge(state);
    EXPECT_TRUE(same_bits(merged, whole)) << parts << " parts";
  }
}

TEST_P(RegressionLaws, AnEmptyPartIsNeutral) {
  exact::State state = part(0, 50, 8);
  const exact::State before = state;

  state.merge(part(50, 0, 8));

  EXPECT_TRUE(same_bits(state, before));
}

TEST_P(RegressionLaws, NoFinitePredictionLeavesItUndefined) {
  std::ranges::fill(values_.predictions, std::numeric_limits<float>::infinity());
  for (const std::int64_t count : {std::int64_t{0}, values_.size()}) {
    const Results results = metrics_.finalize(part(0, count, 16));

    EXPECT_EQ(results.count, count);
    EXPECT_EQ(results.without_scores, count);
    EXPECT_EQ(results.finite(), 0);
    for (const MetricValue& metric : results.metrics) {
      EXPECT_EQ(metric.value, std::nullopt) << metric.name;
    }
    ASSERT_EQ(std::ssize(results.per_class), kOutputs);
    for (const ClassFigures& output : results.per_class) {
      EXPECT_EQ(output.support, 0);
      for (const MetricValue& figure : output.figures) {
        EXPECT_EQ(figure.value, std::nullopt) << figure.name;
      }
    }
  }
}

TEST_P(RegressionLaws, AskedForAloneItIsAloneAndTheSame) {
  const Results alone = metrics_.finalize(part(0, values_.size(), 10));
  const MetricSet all(options_for("all"));
  exact::State state(all.layout());
  add_values(all, values_, 0, values_.size(), 10, state);
  const Results results = all.finalize(state);

  ASSERT_EQ(std::ssize(alone.per_class), kOutputs);
  if (description_of("regression", GetParam()).value().needs_order) {
    EXPECT_THAT(alone.metrics, testing::IsEmpty()) << "it is computed elsewhere";
    return;
  }
  ASSERT_EQ(alone.metrics.size(), 1u);
  EXPECT_EQ(alone.metrics[0].name, GetParam());
  const MetricValue* same = results.find(GetParam());
  ASSERT_NE(same, nullptr);
  EXPECT_TRUE(alone.metrics[0].value.has_value());
  EXPECT_EQ(alone.metrics[0].value, same->value);
  for (std::size_t output = 0; output < alone.per_class.size(); ++output) {
    const auto& figures = alone.per_class[output].figures;
    ASSERT_EQ(figures.size(), 1u);
    EXPECT_EQ(figures[0].value, results.per_class[output].value(GetParam()));
  }
}

std::vector<std::string> every_metric() {
  std::vector<std::string> names;
  for (const MetricDescription& metric : known_metrics("regression")) {
    names.emplace_back(metric.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryMetric, RegressionLaws, testing::ValuesIn(every_metric()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tally::metrics
