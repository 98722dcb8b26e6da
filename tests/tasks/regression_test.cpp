// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/tasks/task.hpp>

#include "expect_error.hpp"
#include "outputs_of.hpp"
#include "values_of.hpp"

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::NanSensitiveFloatEq;
using testing::Pointwise;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TaskOptions options(std::int64_t outputs) {
  return {.task = "regression",
          .metrics = {.task = "regression", .num_classes = outputs},
          .save = {SaveColumns::labels},
          .targets = {"other", "label"},
          .keep_rows = true};
}

// Samples from index 40 on and a row of padding that must not be touched.
struct Batch {
  std::int64_t num_outputs = 2;
  std::vector<float> predictions{1, 2, 3, kNan, 5, 9, kNan, kNan};
  std::vector<float> values{1, 4, 0, 0, 6, 8, kNan, kNan};
  std::vector<TensorView> targets{}, outputs{};

  ScoredBatch view() {
    const std::int64_t rows = std::ssize(values) / num_outputs;
    targets = {TensorView{}, contiguous_view(values.data(), DType::f32, {rows, num_outputs})};
    outputs = {contiguous_view(predictions.data(), DType::f32, {rows, num_outputs})};
    return {.first_index = 40, .num_samples = rows - 1, .outputs = outputs, .targets = targets};
  }
};

struct Scored {
  metrics::Results results;
  CollectedBatch collected;
};

Scored score(const Task& task, const ScoredBatch& batch) {
  exact::State state(task.layout());
  const device::Device cpu;
  const device::Stream stream(cpu);
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task.make_scorer(batch.outputs.front().shape[0], cpu);
  scorer->enqueue(batch, counts);
  counts.finish();
  Scored scored;
  scorer->collect(scored.collected);
  scored.results = task.finalize(state);
  return scored;
}

TEST(Regression, RecordsPredictionsAndTargets) {
  Batch batch;
  const auto task = make_task(options(2));
  const Scored scored = score(*task, batch.view());

  const std::vector<predictions::ColumnSpec> specs{{"index", DType::i64, {}},
                                                   {"label", DType::f32, {2}},
                                                   {"loss", DType::f32, {}},
                                                   {"prediction", DType::f32, {2}}};
  EXPECT_EQ(task->columns(), specs);
  const auto& columns = scored.collected.records.columns;
  EXPECT_EQ(scored.collected.records.num_rows, 3);
  EXPECT_THAT(values_of<std::int64_t>(columns.at(0)), ElementsAre(40, 41, 42));
  EXPECT_THAT(values_of<float>(columns.at(1)), ElementsAre(1, 4, 0, 0, 6, 8));
  EXPECT_THAT(values_of<float>(columns.at(2)),
              Pointwise(NanSensitiveFloatEq(), std::vector<float>{2, kNan, 1}));
  EXPECT_THAT(values_of<float>(columns.at(3)),
              Pointwise(NanSensitiveFloatEq(), std::vector<float>{1, 2, 3, kNan, 5, 9}));
}

TEST(Regression, ScoresTheFiniteRows) {
  Batch batch;
  const Scored scored = score(*make_task(options(2)), batch.view());
  EXPECT_THAT(scored.collected.not_finite, ElementsAre(41));
  EXPECT_EQ(scored.results.units.count, 3);
  EXPECT_EQ(scored.results.counts.without_scores, 1);
  EXPECT_EQ(scored.results.find("mse")->value, 1.5);
  EXPECT_EQ(scored.results.per_class.at(1).value("mae"), 1.5);
  EXPECT_EQ(scored.results.per_class.at(1).support, 2);
}

TEST(Regression, OneOutputIsOneNumberPerSample) {
  Batch batch{1, {1, 2, 3}, {1, 4, 5}, {}, {}};
  TaskOptions with = options(1);
  const auto task = make_task(with);
  EXPECT_EQ(task->columns().at(1), (predictions::ColumnSpec{"label", DType::f32, {}}));
  for (const Shape& shape : {Shape{3}, Shape{3, 1}}) {
    const ScoredBatch view = batch.view();
    batch.outputs.front() = contiguous_view(batch.predictions.data(), DType::f32, shape);
    const Scored scored = score(*task, view);
    EXPECT_EQ(scored.results.find("mae")->value, 1.0);
    EXPECT_THAT(values_of<float>(scored.collected.records.columns.at(3)), ElementsAre(1, 2));
  }
}

TEST(Regression, RecountsRetainedSamples) {
  Batch batch;
  const auto task = make_task(options(2));
  const auto retained = score(*task, batch.view()).collected.retained;

  exact::State again(task->resample_layout());
  const std::vector<std::uint8_t> weights{3, 1, 1};
  task->resample_rows(retained).count(weights, again);
  const metrics::Results results = task->finalize_resampled(again);
  EXPECT_EQ(results.units.count, 5);
  EXPECT_EQ(results.counts.finite(), 4);
  EXPECT_EQ(results.find("mse")->value, (3 * 4.0 + 2.0) / 8);
}

TEST(Regression, GivesKeptPairsWhereAMetricNeedsTheirOrder) {
  Batch batch;
  TaskOptions with = options(2);
  with.keep_rows = false;
  EXPECT_TRUE(make_task(with)->retained_columns().empty());
  with.metrics.names = {"spearman"};
  const auto task = make_task(with);
  const auto retained = score(*task, batch.view()).collected.retained;
  ASSERT_EQ(retained.num_rows, 3);

  std::vector<float> predictions(6), targets(6);
  EXPECT_EQ(value_pairs_of(*task).num_pair_outputs(), 2);
  value_pairs_of(*task).prediction_target_pairs(retained, predictions, targets);
  EXPECT_THAT(predictions,
              Pointwise(NanSensitiveFloatEq(), std::vector<float>{1, 2, 3, kNan, 5, 9}));
  EXPECT_THAT(targets,
              Pointwise(NanSensitiveFloatEq(), std::vector<float>{1, 4, kNan, kNan, 6, 8}));
  EXPECT_EQ(task->capabilities().class_scores, nullptr);
  EXPECT_THROW(class_scores_of(*task), Error);
}

TEST(Regression, RefusesOutputsThatDoNotFitTheDataSet) {
  const auto two = make_task(options(2));
  EXPECT_NO_THROW(two->check_outputs(outputs_of(Shape{4, 2})));
  for (const Shape& shape : {Shape{4}, Shape{4, 1}, Shape{4, 3}, Shape{4, 2, 1}}) {
    expect_error(ErrorKind::model, {to_string(shape) + ", expected [rows, 2] for the data set's 2"},
                 [&] { two->check_outputs(outputs_of(shape)); });
  }
  const auto one = make_task(options(1));
  EXPECT_NO_THROW(one->check_outputs(outputs_of(Shape{4})));
  EXPECT_NO_THROW(one->check_outputs(outputs_of(Shape{4, 1})));
  expect_error(ErrorKind::model, {"expected [rows] or [rows, 1]"}, [&] {
    one->check_outputs(outputs_of(Shape{4, 2}));
  });

  Batch batch;
  const ScoredBatch few = batch.view();
  batch.outputs.front().shape[0] = 2;
  expect_error(ErrorKind::model, {"2 rows for a batch of 3"}, [&] { score(*two, few); });
  const ScoredBatch whole = batch.view();
  batch.outputs.front().dtype = DType::i32;
  expect_error(ErrorKind::model, {"returned int32, expected floating-point scores"},
               [&] { score(*two, whole); });
}

TEST(Regression, RefusesOptionsThatMeanNothing) {
  TaskOptions scores = options(1);
  scores.save = {SaveColumns::labels, SaveColumns::topk};
  expect_error(ErrorKind::usage, {"has no classes"}, [&] { make_task(scores); });
  TaskOptions kind = options(1);
  kind.outputs = metrics::OutputKind::probabilities;
  expect_error(ErrorKind::usage, {"are values, not probabilities"}, [&] { make_task(kind); });
  TaskOptions targets = options(1);
  targets.targets = {"price"};
  expect_error(ErrorKind::dataset, {"[price], expected 'label'"}, [&] { make_task(targets); });
}

}  // namespace
}  // namespace tally::tasks
