// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/tasks/task.hpp>

#include "expect_error.hpp"
#include "values_of.hpp"

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TaskOptions options(std::vector<std::string> names = {}) {
  return {.task = "detection",
          .metrics = {.task = "detection", .num_classes = 3},
          .save = {SaveColumns::labels},
          .targets = {},
          .output_names = std::move(names)};
}

// Three images with room for two detections, from index 40 on.
struct Batch {
  std::vector<float> boxes{1,    2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9,
                           kNan, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
  std::vector<float> scores{0.5f, 0.25f, 0.75f, kNan, 1, 0.125f};
  std::vector<std::int32_t> labels{2, 0, 1, 1, -1, 2};
  std::vector<std::int64_t> counts{2, 1, 2};
  TensorView boxes_view = contiguous_view(boxes.data(), DType::f32, {3, 2, 4});
  TensorView scores_view = contiguous_view(scores.data(), DType::f32, {3, 2});
  TensorView labels_view = contiguous_view(labels.data(), DType::i32, {3, 2});
  TensorView counts_view = contiguous_view(counts.data(), DType::i64, {3});

  std::vector<TensorView> in_order() const {
    return {boxes_view, scores_view, labels_view, counts_view};
  }
};

CollectedBatch collected_of(const Task& task, const std::vector<TensorView>& outputs,
                            exact::State& state) {
  const device::Stream stream{device::Device{}};
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task.make_scorer(3, {});
  CollectedBatch collected;
  scorer->enqueue({.first_index = 40, .num_samples = 3, .outputs = outputs, .targets = {}}, counts);
  scorer->collect(collected);
  return collected;
}

CollectedBatch collected_of(const Task& task, const std::vector<TensorView>& outputs) {
  exact::State state(task.layout());
  return collected_of(task, outputs, state);
}

TEST(Detection, KeepsThoseThatCount) {
  const auto task = make_task(options());
  exact::State state(task->layout());
  const auto collected = collected_of(*task, Batch().in_order(), state);
  EXPECT_THAT(collected.retained.lengths[kRetainedBoxes], ElementsAre(2, 1, 1));
  EXPECT_THAT(values_of<float>(collected.retained.columns[kRetainedBoxes]),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 3, 3, 4, 4));
  EXPECT_THAT(values_of<std::int32_t>(collected.retained.columns[kRetainedLabels]),
              ElementsAre(2, 0, 1, 2));
  EXPECT_THAT(values_of<float>(collected.retained.columns[kRetainedScores]),
              ElementsAre(0.5f, 0.25f, 0.75f, 0.125f));
  EXPECT_THAT(collected.not_finite, IsEmpty());
  EXPECT_EQ(task->finalize(state).counts.scored, 3);
  EXPECT_EQ(task->sample_columns().size(), 3U);
}

TEST(Detection, KeepsNothingOfAnImageWithoutFiniteDetections) {
  const auto task = make_task(options());
  Batch batch;
  exact::State state(task->layout());
  const auto collected =
      collected_of(*task, {batch.boxes_view, batch.scores_view, batch.labels_view}, state);
  EXPECT_THAT(collected.retained.lengths[kRetainedScores], ElementsAre(2, 0, 1));
  EXPECT_THAT(collected.not_finite, ElementsAre(41));
  EXPECT_EQ(task->finalize(state).counts.not_finite, 1);
}

TEST(Detection, FindsOutputsByTheirNames) {
  const auto task = make_task(options({"masks", "labels", "num_detections", "boxes", "scores"}));
  Batch batch;
  const std::vector<TensorView> outputs{batch.scores_view, batch.labels_view,
                                        contiguous_view(batch.counts.data(), DType::i64, {3, 1}),
                                        batch.boxes_view, batch.scores_view};
  const auto collected = collected_of(*task, outputs);
  EXPECT_THAT(collected.retained.lengths[kRetainedScores], ElementsAre(2, 1, 1));
  expect_error(ErrorKind::model, {"expected boxes [rows, K, 4] float32"}, [&] {
    make_task(options({"boxes", "scores", "classes"}))->check_outputs(batch.in_order());
  });
}

TEST(Detection, RefusesOutputsThatDoNotFit) {
  const auto task = make_task(options());
  const Batch good;
  task->check_outputs(good.in_order());
  const auto refuse = [&](std::size_t which, const TensorView& other) {
    auto outputs = good.in_order();
    outputs[which] = other;
    expect_error(ErrorKind::model, {"the model returned", to_string(other.shape)},
                 [&] { task->check_outputs(outputs); });
  };
  refuse(0, contiguous_view(nullptr, DType::f32, {3, 2, 5}));
  refuse(0, contiguous_view(nullptr, DType::f32, {3, 3, 4}));
  refuse(0, contiguous_view(nullptr, DType::i64, {3, 2, 4}));
  refuse(1, contiguous_view(nullptr, DType::f32, {6}));
  refuse(1, contiguous_view(nullptr, DType::i64, {3, 2}));
  refuse(2, contiguous_view(nullptr, DType::f32, {3, 2}));
  refuse(2, contiguous_view(nullptr, DType::i64, {3, 1}));
  refuse(3, contiguous_view(nullptr, DType::f32, {3}));
  refuse(3, contiguous_view(nullptr, DType::i64, {3, 2}));
  expect_error(ErrorKind::model, {"[3, 2, 4] float32, [3, 2] float32, expected boxes"}, [&] {
    task->check_outputs(std::vector{good.boxes_view, good.scores_view});
  });
}

TEST(Detection, RefusesLabelsAndNumbersOutOfRange) {
  const auto task = make_task(options());
  Batch batch;
  batch.labels[1] = 3;
  expect_error(ErrorKind::model, {"label 3 for sample 40", "classes are 0..2"},
               [&] { collected_of(*task, batch.in_order()); });
  batch.labels[1] = 0;
  for (const std::int64_t number : {3, -1}) {
    batch.counts[2] = number;
    expect_error(ErrorKind::model, {format("num_detections {} for sample 42", number), "0..2"},
                 [&] { collected_of(*task, batch.in_order()); });
  }
}

TEST(Detection, TakesScoresAsTheyAre) {
  TaskOptions with = options();
  with.outputs = metrics::OutputKind::probabilities;
  expect_error(ErrorKind::usage, {"ranked as they are"}, [&] { make_task(with); });
}

TEST(Detection, SavesDetectionsOnly) {
  TaskOptions with = options();
  with.save = {SaveColumns::topk};
  expect_error(ErrorKind::usage, {"saves detections only", "--save none"},
               [&] { make_task(with); });
  with.save = {};
  EXPECT_THAT(make_task(with)->columns(), IsEmpty());
}

}  // namespace
}  // namespace tally::tasks
