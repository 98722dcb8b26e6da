// What holds for every metric: the split and the order of merging do not matter, to the bit; an
// empty part is neutral; no scored sample leaves it undefined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rows.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kIgnored = 3;

MetricOptions options_for(const std::string& metric) {
  return {.num_classes = 7, .ignore_index = kIgnored, .names = {metric}};
}

// Needs all scores in order, so it counts nothing.
bool is_curve(std::string_view metric) {
  return description_of("multiclass", metric).value().needs_order;
}

class Laws : public testing::TestWithParam<std::string> {
 protected:
  exact::State fresh() const { return exact::State(metrics_.layout()); }

  // Samples [first, first + count), in batches of `batch`.
  exact::State part(std::int64_t first, std::int64_t count, std::int64_t batch) {
    exact::State state = fresh();
    for (std::int64_t done = 0; done < count; done += batch) {
      add_samples(metrics_, samples_, first + done, std::min(batch, count - done), kIgnored, state);
    }
    return state;
  }

  static bool same_bits(const exact::State& a, const exact::State& b) {
    return std::ranges::equal(a.bytes(), b.bytes());
  }

  MetricSet metrics_{options_for(GetParam())};
  Samples samples_ = random_samples(211, 7, 5);
};

TEST_P(Laws, AnySplitMergedInAnyOrderIsTheSameBits) {
  const exact::State whole = part(0, samples_.size(), samples_.size());
  std::mt19937 random(1);
  for (const std::int64_t parts : {1, 2, 3, 5, 8, 64, 300}) {
    std::vector<exact::State> states;
    for (std::int64_t k = 0; k < parts; ++k) {
      const std::int64_t first = samples_.size() * k / parts;
      states.push_back(part(first, samples_.size() * (k + 1) / parts - first, 1 + k % 9));
    }
    std::shuffle(states.begin(), states.end(), random);
    exact::State merged = fresh();
    for (const exact::State& state : states) merged.merge(state);
    EXPECT_TRUE(same_bits(merged, whole)) << parts << " parts";
  }
}

TEST_P(Laws, AnEmptyPartIsNeutral) {
  exact::State state = part(0, 50, 8);
  const exact::State before = state;

  state.merge(part(50, 0, 8));
  add_samples(metrics_, samples_, 50, 0, kIgnored, state);

  EXPECT_TRUE(same_bits(state, before));
}

TEST_P(Laws, NoScoredSampleLeavesItUndefined) {
  std::fill(samples_.labels.begin(), samples_.labels.end(), kIgnored);
  for (const std::int64_t count : {std::int64_t{0}, samples_.size()}) {
    const Results results = metrics_.finalize(part(0, count, 16));

    EXPECT_EQ(results.count, count);
    EXPECT_EQ(results.ignored, count);
    EXPECT_EQ(results.scored, 0);
    for (const MetricValue& metric : results.metrics) {
      EXPECT_EQ(metric.value, std::nullopt) << metric.name;
    }
    for (const ClassFigures& figures : results.per_class) {
      EXPECT_EQ(figures.support + figures.predicted + figures.correct, 0);
      for (const MetricValue& figure : figures.figures) {
        EXPECT_EQ(figure.value, std::nullopt) << figure.name;
      }
    }
    for (const std::int64_t cell : results.confusion) EXPECT_EQ(cell, 0);
  }
}

TEST_P(Laws, AskedForAloneItIsAloneAndTheSame) {
  const Results alone = metrics_.finalize(part(0, samples_.size(), 10));
  const MetricSet all({.num_classes = 7, .ignore_index = kIgnored, .names = {"all", GetParam()}});
  exact::State state(all.layout());
  add_samples(all, samples_, 0, samples_.size(), kIgnored, state);
  const Results results = all.finalize(state);

  EXPECT_EQ(alone.per_class.size(), 7u);
  if (is_curve(GetParam())) {
    EXPECT_THAT(alone.metrics, testing::IsEmpty()) << "it is computed elsewhere";
    return;
  }
  if (GetParam().starts_with("confusion_")) {
    EXPECT_THAT(alone.metrics, testing::IsEmpty());
    EXPECT_EQ(alone.confusion, results.confusion);
    return;
  }
  ASSERT_EQ(alone.metrics.size(), 1u);
  EXPECT_EQ(alone.metrics[0].name, GetParam());
  const auto same = std::find_if(results.metrics.begin(), results.metrics.end(),
                                 [](const MetricValue& m) { return m.name == GetParam(); });
  ASSERT_NE(same, results.metrics.end());
  EXPECT_TRUE(alone.metrics[0].value.has_value());
  EXPECT_EQ(alone.metrics[0].value, same->value);
  EXPECT_THAT(alone.confusion, testing::IsEmpty());
}

// Names, and one of each form.
std::vector<std::string> every_metric() {
  std::vector<std::string> names;
  for (const MetricDescription& metric : known_metrics("multiclass")) {
    names.emplace_back(metric.name);
    if (metric.name == "accuracy_top<k>") names.back() = "accuracy_top3";
    if (metric.name.starts_with("f<beta>")) names.back().replace(0, 7, "f0.5");
  }
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryMetric, Laws, testing::ValuesIn(every_metric()), test_name);

}  // namespace
}  // namespace tally::metrics
