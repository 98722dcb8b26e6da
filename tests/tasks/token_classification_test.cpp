// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/base/error.hpp>
#include <tally/tasks/task.hpp>

#include "expect_error.hpp"
#include "outputs_of.hpp"
#include "score_twice.hpp"
#include "values_of.hpp"

namespace tally::tasks {
namespace {

using predictions::ColumnSpec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kIgnored = -100;
constexpr std::int64_t kRows = 4, kPlaces = 3, kClasses = 3;

TaskOptions options(std::vector<SaveColumns> save = {SaveColumns::labels}) {
  return {.task = "token-classification",
          .metrics = {.task = "token-classification",
                      .num_classes = kClasses,
                      .ignore_index = kIgnored,
                      .class_names = {"O", "B-X", "I-X"}},
          .save = std::move(save),
          .keep_rows = true};
}

// Three samples, not in order, and a row of padding that must not be touched: an entity that is
// found, with a place in it that is not scored; nothing; one that is taken for two.
struct Batch {
  Batch() {
    std::fill(scores.end() - kPlaces * kClasses, scores.end(), kNan);
    *at(0, 0, 1) = 2;
    *at(0, 2, 2) = 2;
    *at(2, 0, 1) = 2;
    *at(2, 1, 1) = 2;
  }

  float* at(std::int64_t row, std::int64_t place, std::int64_t score) {
    return scores.data() + (row * kPlaces + place) * kClasses + score;
  }
  ScoredBatch view() {
    targets = {contiguous_view(labels.data(), DType::i32, {kRows, kPlaces})};
    outputs = {contiguous_view(scores.data(), DType::f32, {kRows, kPlaces, kClasses})};
    return {.first_index = 40,
            .num_samples = 3,
            .indices = indices,
            .outputs = outputs,
            .targets = targets};
  }

  std::vector<float> scores = std::vector<float>(kRows * kPlaces * kClasses, 1.0f);
  std::vector<std::int32_t> labels{1, kIgnored, 2, kIgnored, kIgnored, kIgnored, 1, 2, 0, 0, 0, 0};
  std::vector<std::int64_t> indices{41, 40, 42};
  std::vector<TensorView> outputs{}, targets{};
};

// Of a token whose label scores 2 where the others score 1, of one where all score the same, and of
// one where another has 2.
const double kSure = std::log(2 * std::exp(-1) + 1), kEven = std::log(3.0), kWrong = kSure + 1;

TEST(TokenClassification, CountsAndRecordsSequences) {
  Batch batch;
  const auto task = make_task(options());
  EXPECT_THAT(
      task->columns(),
      ElementsAre(ColumnSpec{"correct", DType::i64, {}}, ColumnSpec{"index", DType::i64, {}},
                  ColumnSpec{"label", DType::i32, {}, true}, ColumnSpec{"loss", DType::f64, {}},
                  ColumnSpec{"nll", DType::f64, {}}, ColumnSpec{"prediction", DType::i32, {}, true},
                  ColumnSpec{"tokens", DType::i64, {}}));
  exact::State state(task->layout());
  const auto [records, retained, not_finite] = score_twice(*task, batch.view(), state);
  EXPECT_THAT(not_finite, IsEmpty());
  ASSERT_EQ(records.num_rows, 3);
  EXPECT_THAT(values_of<std::int64_t>(records.columns[0]), ElementsAre(2, 0, 2));
  EXPECT_THAT(values_of<std::int64_t>(records.columns[1]), ElementsAre(41, 40, 42));
  EXPECT_THAT(values_of<std::int32_t>(records.columns[2]), ElementsAre(1, 2, 1, 2, 0));
  EXPECT_THAT(values_of<std::int32_t>(records.columns[5]), ElementsAre(1, 2, 1, 1, 0));
  EXPECT_THAT(records.lengths[2], ElementsAre(2, 0, 3));
  EXPECT_EQ(records.lengths[5], records.lengths[2]);
  EXPECT_THAT(values_of<std::int64_t>(records.columns[6]), ElementsAre(2, 0, 3));
  const auto sums = values_of<double>(records.columns[4]),
             means = values_of<double>(records.columns[3]);
  EXPECT_NEAR(sums[0], 2 * kSure, 1e-14);
  EXPECT_EQ(sums[1], 0);
  EXPECT_NEAR(sums[2], kSure + kWrong + kEven, 1e-14);
  EXPECT_EQ(means[0], sums[0] / 2);
  EXPECT_TRUE(std::isnan(means[1]));

  const auto results = task->finalize(state);  // of both times
  EXPECT_EQ(results.counts.scored, 4);
  EXPECT_EQ(results.counts.ignored, 2);
  EXPECT_EQ(results.find("accuracy")->value, 4.0 / 5);
  EXPECT_EQ(results.find("entity_precision")->value, 1.0 / 3);
  EXPECT_EQ(results.find("entity_recall")->value, 1.0 / 2);
  EXPECT_DOUBLE_EQ(*results.find("loss")->value, (sums[0] + sums[2]) / 5);
  EXPECT_THAT(results.confusion, ElementsAre(2, 0, 0, 0, 4, 0, 0, 2, 2));
}

TEST(TokenClassification, CountsAgainWhatItCounted) {
  Batch batch;
  *batch.at(2, 2, 0) = kNan;
  const auto task = make_task(options());
  exact::State state(task->layout()), again(task->resample_layout());
  const CollectedBatch collected = score_twice(*task, batch.view(), state);
  const std::vector<std::uint8_t> weights{2, 2, 2};
  const auto rows = task->resample_rows(collected.retained);
  rows.count(weights, again);
  const auto once = task->finalize(state), twice = task->finalize_resampled(again);
  EXPECT_EQ(twice.counts.without_scores, 2);
  EXPECT_EQ(twice.counts.ignored, once.counts.ignored);
  EXPECT_TRUE(twice.confusion.empty());
  ASSERT_EQ(once.metrics.size(), twice.metrics.size());
  for (const metrics::MetricValue& metric : once.metrics) {
    EXPECT_EQ(twice.find(metric.name)->value, metric.value) << metric.name;
  }
  exact::State first(task->resample_layout());
  rows.count(std::vector<std::uint8_t>{1, 0, 0}, first);
  EXPECT_EQ(task->finalize_resampled(first).find("entity_f1")->value, 1);
}

TEST(TokenClassification, TakesTokensThatAreNotFiniteForWrong) {
  Batch batch;
  *batch.at(0, 1, 0) = kNan;  // not scored
  *batch.at(2, 0, 2) = kNan;
  const auto task = make_task(options());
  exact::State state(task->layout());
  const CollectedBatch collected = score_twice(*task, batch.view(), state);
  EXPECT_THAT(collected.not_finite, ElementsAre(42));
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[0]), ElementsAre(2, 0, 1));
  EXPECT_THAT(values_of<std::int32_t>(collected.records.columns[5]), ElementsAre(1, 2, -1, 1, 0));
  EXPECT_TRUE(std::isnan(values_of<double>(collected.records.columns[4])[2]));
  EXPECT_NEAR(*task->finalize(state).find("loss")->value, kSure, 1e-14);
}

TEST(TokenClassification, ReadsWideLabelsAndBFloat16) {
  Batch batch;
  std::vector<std::int64_t> labels(batch.labels.begin(), batch.labels.end());
  std::vector<std::uint16_t> ones(batch.scores.size(), 0x3f80);
  ScoredBatch view = batch.view();
  batch.targets[0] = contiguous_view(labels.data(), DType::i64, {kRows, kPlaces});
  batch.outputs[0] = contiguous_view(ones.data(), DType::bf16, {kRows, kPlaces, kClasses});
  const auto task = make_task(options());
  exact::State state(task->layout());
  const CollectedBatch collected = score_twice(*task, view, state);
  EXPECT_THAT(values_of<std::int32_t>(collected.records.columns[2]), ElementsAre(1, 2, 1, 2, 0));
  EXPECT_THAT(values_of<std::int32_t>(collected.records.columns[5]), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_NEAR(*task->finalize(state).find("loss")->value, kEven, 1e-14);
}

TEST(TokenClassification, CountsWithoutRecords) {
  Batch batch;
  TaskOptions with = options({});
  with.keep_rows = false;
  const auto task = make_task(with);
  exact::State state(task->layout());
  const CollectedBatch collected = score_twice(*task, batch.view(), state);
  EXPECT_TRUE(task->columns().empty() && task->sample_columns().empty());
  EXPECT_THAT(collected.records.columns, IsEmpty());
  EXPECT_EQ(task->finalize(state).find("accuracy")->value, 4.0 / 5);
}

TEST(TokenClassification, RefusesOtherOutputs) {
  const auto task = make_task(options());
  EXPECT_TRUE(task->capabilities().is_order_independent);
  EXPECT_NO_THROW(task->check_outputs(outputs_of({2, 4, 3})));
  for (const Shape& shape : std::vector<Shape>{{2, 4, 2}, {2, 4, 4}, {2, 4}, {2, 0, 3}}) {
    expect_error(ErrorKind::model, {to_string(shape), "expected [rows, places, 3]"},
                 [&] { task->check_outputs(outputs_of(shape)); });
  }
  Batch batch;
  const ScoredBatch view = batch.view();
  exact::State state(task->layout());
  batch.outputs[0].shape[1] = 2;
  expect_error(ErrorKind::model, {"scores of 2 places, /targets/label has 3"},
               [&] { score_twice(*task, view, state); });
  batch.outputs[0].shape = {2, kPlaces, kClasses};
  expect_error(ErrorKind::model, {"2 rows for a batch of 3"},
               [&] { score_twice(*task, view, state); });
}

TEST(TokenClassification, NamesTheSampleOfAnotherKind) {
  Batch batch;
  TaskOptions with = options();
  with.outputs = metrics::OutputKind::log_probabilities;
  const auto task = make_task(with);
  exact::State state(task->layout());
  for (float& score : batch.scores) score = -1;
  *batch.at(2, 0, 0) = 3;
  expect_error(ErrorKind::model, {"outputs for sample 42 are not log-probabilities"},
               [&] { score_twice(*task, batch.view(), state); });
}

TEST(TokenClassification, SaysWhyThereAreNoEntities) {
  EXPECT_THAT(make_task(options())->notes(), IsEmpty());
  TaskOptions with = options();
  with.metrics.class_names.clear();
  EXPECT_THAT(make_task(with)->notes(),
              ElementsAre("there are no metrics of entities: the data set has no class names"));
  with.metrics.class_names = {"DET", "NOUN", "VERB"};
  EXPECT_THAT(make_task(with)->notes(), ElementsAre(HasSubstr("class 0 is named 'DET'")));
  with.metrics.names = {"accuracy"};
  EXPECT_THAT(make_task(with)->notes(), IsEmpty()) << "nobody asked for them";
}

TEST(TokenClassification, RefusesOptionsThatMeanNothing) {
  expect_error(ErrorKind::usage, {"saves classes and sums over tokens", "--save labels"},
               [] { make_task(options({SaveColumns::probabilities})); });
  TaskOptions with = options();
  with.metrics.ignore_index.reset();
  expect_error(ErrorKind::dataset, {"needs an ignore_index"}, [&] { make_task(with); });
  with = options();
  with.targets = {"class"};
  expect_error(ErrorKind::dataset, {"expected 'label'"}, [&] { make_task(with); });
}

}  // namespace
}  // namespace tally::tasks
