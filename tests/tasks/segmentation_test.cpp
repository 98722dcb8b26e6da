// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TaskOptions options(std::vector<SaveColumns> save = {SaveColumns::labels, SaveColumns::masks},
                    std::int64_t classes = 2) {
  return {.task = "segmentation",
          .metrics = {.task = "segmentation", .num_classes = classes, .ignore_index = 255},
          .save = std::move(save),
          .keep_rows = true};
}

// Two images of 1 x 3 pixels from index 40 on, and one of padding.
struct Batch {
  std::vector<float> scores{1, 0,    2, 0, 1, 2,  //
                            0, kNan, 0, 1, 1, 1,  //
                            9, 9,    9, 9, 9, 9};
  std::vector<std::uint8_t> labels{0, 0, 255, 1, 1, 0, 77, 77, 77};
  std::vector<TensorView> outputs{contiguous_view(scores.data(), DType::f32, {3, 2, 1, 3})};
  std::vector<TensorView> targets{contiguous_view(labels.data(), DType::u8, {3, 1, 3})};
  ScoredBatch view{.first_index = 40, .num_samples = 2, .outputs = outputs, .targets = targets};
};

TEST(Segmentation, CountsAndRecordsPixels) {
  Batch batch;
  const auto task = make_task(options());
  task->bind_output_shapes(batch.outputs);
  EXPECT_THAT(task->columns(),
              ElementsAre(ColumnSpec{"correct", DType::i64, {}},
                          ColumnSpec{"index", DType::i64, {}}, ColumnSpec{"pixels", DType::i64, {}},
                          ColumnSpec{"prediction", DType::u8, {1, 3}}));
  exact::State state(task->layout());
  const CollectedBatch collected = score_twice(*task, batch.view, state);
  EXPECT_EQ(collected.records.num_rows, 2);
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[0]), ElementsAre(1, 1));
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[1]), ElementsAre(40, 41));
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[2]), ElementsAre(2, 3));
  EXPECT_THAT(values_of<std::uint8_t>(collected.records.columns[3]),
              ElementsAre(0, 1, 0, 1, 255, 1));
  EXPECT_THAT(collected.not_finite, ElementsAre(41));
  const auto results = task->finalize(state);
  EXPECT_EQ(results.counts.scored, 4);
  EXPECT_DOUBLE_EQ(*results.find("accuracy")->value, 2.0 / 5);

  exact::State again(task->resample_layout());
  task->resample_rows(collected.retained).count({}, again);
  const auto once = task->finalize_resampled(again);
  EXPECT_EQ(once.counts.scored, 2);
  EXPECT_DOUBLE_EQ(*once.find("accuracy")->value, 2.0 / 5);
  EXPECT_EQ(once.counts.not_finite, 1);
}

template <class T>
void check_decided(DType dtype) {
  Batch batch;
  std::vector<T> classes{0, 1, 0, 1, 0, 1, 9, 9, 9};
  batch.outputs = {contiguous_view(classes.data(), dtype, {3, 1, 3})};
  batch.view.outputs = batch.outputs;
  const auto task = make_task(options());
  task->bind_output_shapes(batch.outputs);
  exact::State state(task->layout());
  const CollectedBatch collected = score_twice(*task, batch.view, state);
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[0]), ElementsAre(1, 1));
  EXPECT_THAT(values_of<std::uint8_t>(collected.records.columns[3]), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_TRUE(collected.not_finite.empty());
  for (const int wrong : {2, -1, 255}) {
    classes[2] = static_cast<T>(wrong);  // its label is ignored
    expect_error(ErrorKind::model,
                 {"the class of pixel 2 of sample 40 is predicted as ", ", expected 0 to 1"},
                 [&] { score_twice(*task, batch.view, state); });
  }
}

// As predictions.h5 has them.
template <class T>
void check_saved(DType dtype, std::int64_t num_classes, T none) {
  Batch batch;
  std::vector<T> classes{0, 1, 0, 1, none, 1, 9, 9, 9};
  batch.outputs = {contiguous_view(classes.data(), dtype, {3, 1, 3})};
  batch.view.outputs = batch.outputs;
  auto of_saved = options({SaveColumns::labels}, num_classes);
  of_saved.are_saved = true;
  const auto task = make_task(of_saved);
  exact::State state(task->layout());
  const CollectedBatch collected = score_twice(*task, batch.view, state);
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[0]), ElementsAre(1, 1));
  EXPECT_THAT(collected.not_finite, ElementsAre(41));
  EXPECT_DOUBLE_EQ(*task->finalize(state).find("accuracy")->value, 2.0 / 5);
}

TEST(Segmentation, TakesClassesThatAreDecided) {
  check_decided<std::uint8_t>(DType::u8);
  check_decided<std::int16_t>(DType::i16);
  check_decided<std::int32_t>(DType::i32);
  check_decided<std::int64_t>(DType::i64);
  check_saved<std::uint8_t>(DType::u8, 255, 255);
  check_saved<std::int32_t>(DType::i32, 256, -1);
  const auto task = make_task(options());
  std::vector<std::int64_t> classes(3);
  const std::vector<TensorView> flat{contiguous_view(classes.data(), DType::i64, {3, 1})};
  expect_error(ErrorKind::model, {"int64 [3, 1]", "or integers [rows, height, width]"},
               [&] { task->check_outputs(flat); });
}

TEST(Segmentation, HasMasksOfWiderIntegersForManyClasses) {
  const auto column_of = [](std::int64_t classes) {
    const auto task = make_task(options({SaveColumns::masks}, classes));
    task->bind_output_shapes(outputs_of({3, classes, 4, 5}));
    return task->columns().at(1);
  };
  EXPECT_EQ(column_of(255), (ColumnSpec{"prediction", DType::u8, {4, 5}}));
  EXPECT_EQ(column_of(256), (ColumnSpec{"prediction", DType::i32, {4, 5}}));
}

TEST(Segmentation, RefusesOtherSizes) {
  Batch batch;
  const auto task = make_task(options());
  for (const Shape& shape : {Shape{3, 2, 3}, Shape{3, 3, 1, 3}}) {
    expect_error(ErrorKind::model, {to_string(shape), "expected [rows, 2, height, width]"},
                 [&] { task->check_outputs(outputs_of(shape)); });
  }
  batch.outputs = {contiguous_view(batch.scores.data(), DType::f32, {3, 2, 3, 1})};
  batch.view.outputs = batch.outputs;
  exact::State state(task->layout());
  expect_error(ErrorKind::model, {"scores of 3 x 1 pixels, /targets/label has 1 x 3"},
               [&] { score_twice(*task, batch.view, state); });
}

TEST(Segmentation, SavesWhatItHas) {
  EXPECT_TRUE(make_task(options({}))->columns().empty());
  expect_error(ErrorKind::usage, {"saves counts of pixels, and masks"},
               [] { make_task(options({SaveColumns::logits})); });
  expect_error(ErrorKind::usage, {"the task multiclass has no masks to save"},
               [] { make_task({.metrics = {.num_classes = 3}, .save = {SaveColumns::masks}}); });
}

}  // namespace
}  // namespace tally::tasks
