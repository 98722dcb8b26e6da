// SPDX-License-Identifier: Apache-2.0
// Counting prepared rows gives the State that counting the rows gives, each as often as it weighs.
#include <tally/metrics/precomputed_updates.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <tally/base/error.hpp>

#include "answers.hpp"
#include "labels.hpp"
#include "rows.hpp"
#include "values.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kRows = 97;
constexpr std::int64_t kIgnored = 3;

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

// rows(first, count): what MetricSet::update() takes.
template <class Rows>
void check_counting(const MetricSet& metrics, const Rows& rows) {
  std::vector<std::uint8_t> weights;
  std::vector<std::int32_t> places;
  std::vector<exact::State> apart(4, exact::State(metrics.layout()));
  std::vector<exact::State> expected = apart;
  exact::State once(metrics.layout()), repeated(metrics.layout());
  for (std::int64_t i = 0; i < kRows; ++i) {
    weights.push_back(static_cast<std::uint8_t>(i * i % 4));
    places.push_back(static_cast<std::int32_t>(i % 3));
    metrics.update(rows(i, 1), once);
    metrics.update(rows(i, 1), expected[to_size(i % 3)]);
    for (int k = 0; k < weights.back(); ++k) metrics.update(rows(i, 1), repeated);
  }
  exact::State counted(metrics.layout()), weighted(metrics.layout());
  const PrecomputedUpdates all(metrics, rows(0, kRows));
  ASSERT_EQ(all.num_rows(), kRows);
  all.count({}, counted);
  expect_same(counted, once);
  // In two parts.
  PrecomputedUpdates(metrics, rows(0, 40)).count(RowWeights(weights).first(40), weighted);
  PrecomputedUpdates(metrics, rows(40, kRows - 40))
      .count(RowWeights(weights).subspan(40), weighted);
  expect_same(weighted, repeated);
  all.count_apart(places, apart);
  for (std::size_t place = 0; place < 3; ++place) expect_same(apart[place], expected[place]);
  EXPECT_EQ(std::ranges::count(apart[3].values(), 0), std::ssize(apart[3].values()));
}

struct Classes {
  Classes() {
    const TensorView scores = contiguous_view(samples.scores.data(), DType::f32, {kRows, 7});
    samples.scores[140] = std::numeric_limits<float>::quiet_NaN();
    compute_multiclass_statistics(scores, 0, samples.labels, rules_with(kIgnored, metrics), stats);
  }
  MetricSet metrics{{.num_classes = 7, .ignore_index = kIgnored, .names = {"all"}}};
  Samples samples = random_samples(kRows, 7, 5);
  RowStatistics stats;
};

TEST(PrecomputedUpdates, OfClasses) {
  const Classes given;
  check_counting(given.metrics, [&](std::int64_t first, std::int64_t count) {
    return std::span<const MulticlassRecord>(given.stats.rows)
        .subspan(to_size(first), to_size(count));
  });
}

TEST(PrecomputedUpdates, OfLabels) {
  const MetricSet metrics(
      {.task = "multilabel", .num_classes = 4, .ignore_index = kIgnored, .names = {"all"}});
  LabelSamples samples = random_multilabel(kRows, 4, kIgnored, 3);
  LabelStatistics stats;
  check_counting(metrics, [&](std::int64_t first, std::int64_t count) {
    compute_multilabel_statistics(samples.score_view(first, count),
                                  samples.target_view(first, count), first, count,
                                  label_rules(metrics.options(), OutputKind::logits), stats);
    return stats.view();
  });
}

TEST(PrecomputedUpdates, OfValues) {
  const MetricSet metrics({.task = "regression", .num_classes = 2, .names = {"all"}});
  const Values values = random_values(kRows, 2, 3);
  std::vector<RegressionRecord> rows;
  for (std::size_t i = 0; i < kRows; ++i) {
    rows.push_back(regression_row(i, std::span(values.predictions).subspan(2 * i, 2),
                                  std::span(values.targets).subspan(2 * i, 2)));
  }
  check_counting(metrics, [&](std::int64_t first, std::int64_t count) {
    return std::span<const RegressionRecord>(rows).subspan(to_size(first), to_size(count));
  });
}

TEST(PrecomputedUpdates, OfAnswers) {
  const MetricSet metrics({.task = "question-answering", .names = {"all"}, .no_answer = true});
  const std::vector<QuestionAnsweringRecord> rows = random_answers(kRows, 3);
  check_counting(metrics, [&](std::int64_t first, std::int64_t count) {
    return std::span<const QuestionAnsweringRecord>(rows).subspan(to_size(first), to_size(count));
  });
}

TEST(PrecomputedUpdates, WantAWeightAndAPlacePerRow) {
  const Classes given;
  const PrecomputedUpdates prepared(given.metrics, given.stats.rows);
  std::vector<exact::State> states(2, exact::State(given.metrics.layout()));
  EXPECT_THROW(prepared.count(std::vector<std::uint8_t>(kRows - 1), states[0]), Error);
  EXPECT_THROW(prepared.count_apart(std::vector<std::int32_t>(kRows - 1), states), Error);
  EXPECT_THROW(prepared.count_apart(std::vector<std::int32_t>(kRows, 2), states), Error);
  EXPECT_THROW(prepared.count_apart(std::vector<std::int32_t>(kRows, -1), states), Error);
}

}  // namespace
}  // namespace tally::metrics
