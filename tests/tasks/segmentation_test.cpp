#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include <tally/base/error.hpp>
#include <tally/tasks/task.hpp>

#include "expect_error.hpp"
#include "outputs_of.hpp"

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

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& column) {
  std::vector<T> values(column.size() / sizeof(T));
  std::memcpy(values.data(), column.data(), column.size());
  return values;
}

TEST(Segmentation, CountsAndRecordsPixels) {
  Batch batch;
  const auto task = make_task(options());
  task->settle(batch.outputs);
  EXPECT_THAT(task->columns(),
              ElementsAre(ColumnSpec{"correct", DType::i64, {}},
                          ColumnSpec{"index", DType::i64, {}}, ColumnSpec{"pixels", DType::i64, {}},
                          ColumnSpec{"prediction", DType::u8, {1, 3}}));
  exact::State state(task->layout());
  const device::Stream stream{device::Device{}};
  metrics::DeviceCounts counts(state, stream);
  const auto scorer = task->make_scorer(3, {});
  CollectedBatch collected;
  for (int i = 0; i < 2; ++i) {  // what is left of the batch before does not matter
    scorer->enqueue(batch.view, counts);
    scorer->collect(collected);
  }
  EXPECT_EQ(collected.records.num_rows, 2);
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[0]), ElementsAre(1, 1));
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[1]), ElementsAre(40, 41));
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[2]), ElementsAre(2, 3));
  EXPECT_THAT(values_of<std::uint8_t>(collected.records.columns[3]),
              ElementsAre(0, 1, 0, 1, 255, 1));
  EXPECT_THAT(collected.not_finite, ElementsAre(41));
  const auto results = task->finalize(state);
  EXPECT_EQ(results.scored, 4);
  EXPECT_DOUBLE_EQ(*results.find("accuracy")->value, 2.0 / 5);

  exact::State again(task->layout_again());
  task->prepare_again(collected.kept).count({}, again);
  const auto once = task->finalize_again(again);
  EXPECT_EQ(once.scored, 2);
  EXPECT_DOUBLE_EQ(*once.find("accuracy")->value, 2.0 / 5);
  EXPECT_EQ(once.not_finite, 1);
}

TEST(Segmentation, HasMasksOfWiderIntegersForManyClasses) {
  const auto column_of = [](std::int64_t classes) {
    const auto task = make_task(options({SaveColumns::masks}, classes));
    task->settle(outputs_of({3, classes, 4, 5}));
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
  const device::Stream stream{device::Device{}};
  metrics::DeviceCounts counts(state, stream);
  expect_error(ErrorKind::model, {"scores of 3 x 1 pixels, /targets/label has 1 x 3"},
               [&] { task->make_scorer(3, {})->enqueue(batch.view, counts); });
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
