// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <tally/base/error.hpp>
#include <tally/tasks/task.hpp>

#include "expect_error.hpp"
#include "outputs_of.hpp"
#include "values_of.hpp"

namespace tally::tasks {
namespace {

using predictions::ColumnSpec;
using testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();

TaskOptions options(std::vector<std::string> names = {}) {
  return {.task = "predict",
          .metrics = {.task = "predict"},
          .save = {SaveColumns::labels},
          .targets = {},
          .output_names = std::move(names),
          .keep_rows = true};
}

// Two samples from index 40 on and a row of padding: pairs, and a number.
struct Batch {
  std::vector<float> pairs{1, 2, 3, -kInf, 5, kInf};
  std::vector<std::int16_t> numbers{7, -8, 9};
  std::vector<TensorView> outputs{contiguous_view(pairs.data(), DType::f32, {3, 2}),
                                  contiguous_view(numbers.data(), DType::i16, {3})};
  ScoredBatch view{.first_index = 40, .num_samples = 2, .outputs = outputs, .targets = {}};
};

TEST(Predict, RecordsEveryOutputAndCountsEverySample) {
  Batch batch;
  const auto task = make_task(options({"pair", "a"}));
  EXPECT_THAT(task->columns(), ElementsAre(ColumnSpec{"index", DType::i64, {}}));
  task->bind_output_shapes(batch.outputs);
  EXPECT_THAT(task->columns(),
              ElementsAre(ColumnSpec{"a", DType::i16, {}}, ColumnSpec{"index", DType::i64, {}},
                          ColumnSpec{"pair", DType::f32, {2}}));
  exact::State state(task->layout());
  const device::Stream stream{device::Device{}};
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task->make_scorer(3, {});
  scorer->enqueue(batch.view, counts);
  CollectedBatch collected;
  scorer->collect(collected);
  counts.finish();
  counts.add_counts_of_host();

  EXPECT_THAT(values_of<std::int16_t>(collected.records.columns[0]), ElementsAre(7, -8));
  EXPECT_THAT(values_of<std::int64_t>(collected.records.columns[1]), ElementsAre(40, 41));
  EXPECT_THAT(values_of<float>(collected.records.columns[2]), ElementsAre(1, 2, 3, -kInf));
  EXPECT_THAT(collected.not_finite, ElementsAre(41));
  const auto results = task->finalize(state);
  EXPECT_EQ(results.units.count, 2);
  EXPECT_EQ(results.units.index_sum, 81U);
  EXPECT_EQ(results.counts.not_finite, 1);
  EXPECT_EQ(results.counts.scored, 0);
  EXPECT_TRUE(results.metrics.empty());

  exact::State again(task->resample_layout());
  task->resample_rows(collected.retained).count({}, again);
  EXPECT_EQ(task->finalize_resampled(again).units.count, 2);
  EXPECT_EQ(task->finalize_resampled(again).counts.not_finite, 1);
}

TEST(Predict, SavesNothingWhereThatIsAsked) {
  TaskOptions nothing = options();
  nothing.save.clear();
  const auto task = make_task(nothing);
  task->bind_output_shapes(outputs_of({3, 2}));
  EXPECT_TRUE(task->columns().empty());
}

TEST(Predict, SettlesOutputsOnce) {
  const auto task = make_task(options());
  task->bind_output_shapes(outputs_of({3, 2}));
  task->bind_output_shapes(outputs_of({64, 2}));
  const auto refuse = [&](const std::vector<TensorView>& outputs, std::vector<std::string> says) {
    expect_error(ErrorKind::model, says, [&] { task->bind_output_shapes(outputs); });
  };
  refuse(outputs_of({3, 4}),
         {"'output' as [4] float32 for each sample, and as [2] float32 before"});
  refuse(outputs_of({3, 2}, DType::i64), {"[2] int64"});
  refuse({outputs_of({3, 2})[0], outputs_of({3})[0]}, {"2 outputs, and 1 before"});
}

TEST(Predict, RefusesOutputsThatMakeNoColumn) {
  const auto refuse = [](std::vector<std::string> names, const Shape& shape, std::string says) {
    const std::vector<TensorView> outputs(names.size(), outputs_of(shape)[0]);
    expect_error(ErrorKind::model, {says},
                 [&] { make_task(options(names))->check_outputs(outputs); });
  };
  refuse({"index"}, {3, 2}, "'index' cannot be a column");
  refuse({"a/b"}, {3, 2}, "'a/b' cannot be a column");
  refuse({"a", "a"}, {3, 2}, "two outputs 'a'");
  refuse({"a"}, {3, 0}, "'a' has no values: [3, 0]");
}

TEST(Predict, RefusesColumnsOfOtherTasks) {
  TaskOptions wrong = options();
  wrong.save = {SaveColumns::topk};
  expect_error(ErrorKind::usage, {"saves all that the model returns", "--save labels"},
               [&] { make_task(wrong); });
}

}  // namespace
}  // namespace tally::tasks
