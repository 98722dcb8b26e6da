// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TaskOptions options(std::vector<SaveColumns> save = {SaveColumns::labels, SaveColumns::masks}) {
  return {.task = "regression",
          .metrics = {.task = "regression", .num_classes = 1, .maps = true},
          .save = std::move(save),
          .keep_rows = true};
}

// Three images of 1 x 3 pixels from index 40 on, and one of padding: two pixels are scored, none,
// and three with a prediction that is none.
struct Batch {
  std::vector<float> values{1, 2, 9, kNan, 1, 1, 0, 1, kNan, 5, 5, 5};
  std::vector<float> labels{0, 4, kNan, kNan, kNan, kNan, 1, 1, 1, kNan, 7, 7};
  std::vector<TensorView> outputs{contiguous_view(values.data(), DType::f32, {4, 1, 3})};
  std::vector<TensorView> targets{contiguous_view(labels.data(), DType::f32, {4, 1, 3})};
  ScoredBatch view{.first_index = 40, .num_samples = 3, .outputs = outputs, .targets = targets};
};

void check_counts(Batch& batch) {
  const auto task = make_task(options());
  task->bind_output_shapes(batch.outputs);
  EXPECT_THAT(task->columns(),
              ElementsAre(ColumnSpec{"index", DType::i64, {}}, ColumnSpec{"loss", DType::f32, {}},
                          ColumnSpec{"pixels", DType::i64, {}},
                          ColumnSpec{"prediction", DType::f32, {1, 3}}));
  exact::State state(task->layout());
  const CollectedBatch collected = score_twice(*task, batch.view, state);
  EXPECT_EQ(collected.records.num_rows, 3);
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[0]), ElementsAre(40, 41, 42));
  const auto losses = values_of<float>(collected.records.columns[1]);
  EXPECT_EQ(losses.at(0), 2.5F);
  EXPECT_TRUE(std::isnan(losses.at(1)) && std::isnan(losses.at(2)));
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[2]), ElementsAre(2, 0, 3));
  const auto predicted = std::as_bytes(std::span(batch.values).first(9));
  EXPECT_TRUE(std::ranges::equal(collected.records.columns[3], predicted));
  EXPECT_THAT(collected.not_finite, ElementsAre(42));
  const auto results = task->finalize(state);
  EXPECT_EQ(*results.find("mse")->value, 2.5);
  EXPECT_EQ(results.per_class.at(0).support, 4);

  exact::State again(task->resample_layout());
  task->resample_rows(collected.retained).count({}, again);
  const auto once = task->finalize_resampled(again);
  EXPECT_EQ(*once.find("mae")->value, 1.5);
  EXPECT_EQ(once.per_class.at(0).support, 2);
  EXPECT_EQ(once.counts.not_finite, 1);
}

TEST(MapRegression, CountsAndRecordsPixels) {
  Batch batch;
  check_counts(batch);
  batch.outputs = {contiguous_view(batch.values.data(), DType::f32, {4, 1, 1, 3})};
  batch.view.outputs = batch.outputs;
  check_counts(batch);
}

TEST(MapRegression, RefusesOtherShapes) {
  Batch batch;
  const auto task = make_task(options());
  for (const Shape& shape : {Shape{3}, Shape{3, 2}, Shape{3, 2, 1, 3}}) {
    expect_error(ErrorKind::model, {to_string(shape), "expected [rows, height, width] or [rows, 1"},
                 [&] { task->check_outputs(outputs_of(shape)); });
  }
  batch.outputs = {contiguous_view(batch.values.data(), DType::f32, {4, 3, 1})};
  batch.view.outputs = batch.outputs;
  exact::State state(task->layout());
  expect_error(ErrorKind::model, {"values of 3 x 1 pixels, /targets/label has 1 x 3"},
               [&] { score_twice(*task, batch.view, state); });
}

TEST(MapRegression, SavesWhatItHas) {
  EXPECT_TRUE(make_task(options({}))->columns().empty());
  expect_error(ErrorKind::usage, {"saves losses, and maps"},
               [] { make_task(options({SaveColumns::topk})); });
  auto of_probabilities = options();
  of_probabilities.outputs = metrics::OutputKind::probabilities;
  expect_error(ErrorKind::usage, {"outputs are values"}, [&] { make_task(of_probabilities); });
  auto of_samples = options();
  of_samples.metrics.maps = false;
  expect_error(ErrorKind::usage, {"the task regression has no masks to save"},
               [&] { make_task(of_samples); });
}

}  // namespace
}  // namespace tally::tasks
