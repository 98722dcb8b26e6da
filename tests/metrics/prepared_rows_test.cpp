// Counting prepared rows gives the State that counting the rows gives.
#include <tally/metrics/prepared_rows.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/metrics/poisson_weight.hpp>

#include "rows.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kIgnored = 3;

class PreparedRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    const TensorView scores =
        contiguous_view(samples_.scores.data(), DType::f32, {samples_.size(), 7});
    samples_.scores[140] = std::numeric_limits<float>::quiet_NaN();
    examine_rows(scores, 0, samples_.labels, rules_with(kIgnored, metrics_), facts_);
    const PoissonWeights of_replicate(5, 1);
    for (const ClassRow& row : facts_.rows) {
      weights_.push_back(static_cast<std::uint8_t>(of_replicate.of(row.index)));
    }
  }

  // As MetricSet counts it.
  exact::State expected(RowWeights weights) const {
    exact::State state(metrics_.layout());
    metrics_.update(facts_.rows, state, weights);
    return state;
  }

  MetricSet metrics_{{.num_classes = 7, .ignore_index = kIgnored, .names = {"all"}}};
  Samples samples_ = random_samples(211, 7, 5);
  RowFacts facts_;
  std::vector<std::uint8_t> weights_;
};

// All spans but the evidence of indices.
void expect_same(const exact::State& found, const exact::State& expected) {
  for (const exact::StateSpan& span : expected.layout().spans()) {
    const bool is_evidence = span.name.starts_with("coverage.index_");
    const auto values = found.of(span);
    EXPECT_EQ(std::ranges::equal(values, expected.of(span)), !is_evidence) << span.name;
    if (is_evidence) {
      EXPECT_EQ(std::ranges::count(values, 0), span.length) << span.name;
    }
  }
}

TEST_F(PreparedRowsTest, CountAsTheMetricsDo) {
  const PreparedRows prepared(metrics_, facts_.rows);
  EXPECT_EQ(prepared.num_rows(), 211);
  exact::State once(metrics_.layout());
  prepared.count({}, once);
  expect_same(once, expected({}));
  exact::State weighted(metrics_.layout());
  prepared.count(weights_, weighted);
  expect_same(weighted, expected(weights_));
}

TEST_F(PreparedRowsTest, CountPartsIntoOneState) {
  exact::State state(metrics_.layout());
  const std::span<const ClassRow> rows = facts_.rows;
  PreparedRows(metrics_, rows.first(100)).count(RowWeights(weights_).first(100), state);
  PreparedRows(metrics_, rows.subspan(100)).count(RowWeights(weights_).subspan(100), state);
  expect_same(state, expected(weights_));
}

TEST_F(PreparedRowsTest, WantAWeightPerRow) {
  const PreparedRows prepared(metrics_, facts_.rows);
  exact::State state(metrics_.layout());
  EXPECT_THROW(prepared.count(RowWeights(weights_).first(210), state), Error);
}

}  // namespace
}  // namespace tally::metrics
