// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <tally/base/error.hpp>
#include <tally/tasks/task.hpp>

#include "outputs_of.hpp"

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::IsNan;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TaskOptions binary(std::vector<SaveColumns> save = {SaveColumns::labels}) {
  return {
      .task = "binary", .metrics = {.num_classes = 2, .ignore_index = -1}, .save = std::move(save)};
}

TaskOptions multilabel(std::vector<SaveColumns> save = {SaveColumns::labels}) {
  return {.task = "multilabel",
          .metrics = {.num_classes = 3, .ignore_index = 255},
          .save = std::move(save)};
}

struct Scored {
  metrics::Results results;
  std::vector<predictions::ColumnSpec> specs;
  CollectedBatch collected;

  template <class T>
  std::vector<T> column(const std::string& name) const {
    for (std::size_t c = 0; c < specs.size(); ++c) {
      if (specs[c].name != name) continue;
      const auto& bytes = collected.records.columns[c];
      std::vector<T> values(bytes.size() / sizeof(T));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    }
    throw std::runtime_error("no column " + name);
  }
};

// Samples from index 40 on; the last row is padding that must not be touched.
template <class Target>
struct Batch {
  std::vector<float> scores;
  Shape score_shape;
  std::vector<Target> labels;
  Shape label_shape;

  Scored score(const TaskOptions& with) {
    const DType dtype = sizeof(Target) == 1 ? DType::u8 : DType::i64;
    const std::vector<TensorView> targets{contiguous_view(labels.data(), dtype, label_shape)};
    const std::vector<TensorView> outputs{contiguous_view(scores.data(), DType::f32, score_shape)};
    const auto task = make_task(with);
    exact::State state(task->layout());
    const device::Device cpu;
    const device::Stream stream(cpu);
    metrics::DeviceAccumulator counts(state, stream);
    const auto scorer = task->make_scorer(score_shape[0], cpu);
    scorer->enqueue({.first_index = 40,
                     .num_samples = label_shape[0] - 1,
                     .outputs = outputs,
                     .targets = targets},
                    counts);
    Scored scored{.results = {}, .specs = task->columns(), .collected = {}};
    scorer->collect(scored.collected);
    scored.results = task->finalize(state);
    return scored;
  }
};

Batch<std::int64_t> one_score() { return {{2, -1, 0.5f, kNaN}, {4}, {1, 1, -1, 99}, {4}}; }

Batch<std::uint8_t> three_labels() {
  return {{2, -1, 0, -3, 1, 4, 1, 1, 1, kNaN, 0, 0},
          {4, 3},
          {1, 1, 0, 0, 255, 1, 255, 255, 255, 9, 9, 9},
          {4, 3}};
}

ErrorKind kind_of(const std::function<void()>& act, const std::string& words) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(words));
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::internal;
}

float logistic(float x) { return static_cast<float>(1 / (1 + std::exp(-double{x}))); }

std::vector<std::string> names_of(const Scored& scored) {
  std::vector<std::string> names;
  for (const auto& spec : scored.specs) names.push_back(spec.name);
  return names;
}

TEST(Binary, RecordsLabels) {
  const Scored scored = one_score().score(binary());

  EXPECT_THAT(names_of(scored),
              ElementsAre("confidence", "index", "label", "loss", "prediction", "score"));
  EXPECT_THAT(scored.column<std::int64_t>("index"), ElementsAre(40, 41, 42));
  EXPECT_THAT(scored.column<std::int64_t>("label"), ElementsAre(1, 1, -1));
  EXPECT_THAT(scored.column<std::int64_t>("prediction"), ElementsAre(1, 0, 1));
  EXPECT_THAT(scored.column<float>("score"),
              ElementsAre(FloatEq(logistic(2)), FloatEq(logistic(-1)), FloatEq(logistic(0.5f))));
  EXPECT_THAT(scored.column<float>("confidence"),
              ElementsAre(FloatEq(logistic(2)), FloatEq(logistic(1)), FloatEq(logistic(0.5f))));
  EXPECT_NEAR(scored.column<float>("loss")[1], std::log1p(std::exp(1.0)), 1e-6);
  EXPECT_THAT(scored.column<float>("loss")[2], IsNan());
  EXPECT_EQ(scored.results.units.count, 3);
  EXPECT_EQ(scored.results.counts.ignored, 1);
  EXPECT_EQ(scored.results.find("accuracy")->value, 0.5);
}

TEST(Binary, TakesOutputsOfThreeShapes) {
  const TaskOptions all =
      binary({SaveColumns::labels, SaveColumns::probabilities, SaveColumns::logits});
  auto pairs = one_score();
  pairs.scores = {1, 3, 0, -1, 0, 0.5f, kNaN, 0};
  pairs.score_shape = {4, 2};
  auto column = one_score();
  column.score_shape = {4, 1};
  const Scored expected = one_score().score(all);

  for (const Scored& scored : {pairs.score(all), column.score(all)}) {
    EXPECT_EQ(scored.collected.records.columns, expected.collected.records.columns);
    EXPECT_EQ(scored.results.find("loss")->value, expected.results.find("loss")->value);
  }
  EXPECT_THAT(expected.column<float>("logits"), ElementsAre(2, -1, 0.5f));
  EXPECT_THAT(expected.column<float>("probabilities")[3], FloatEq(logistic(-1)));
  EXPECT_EQ(expected.specs[3], (predictions::ColumnSpec{"logits", DType::f32, {}}));
}

TEST(Binary, PredictsAboveTheThreshold) {
  TaskOptions with = binary();
  with.metrics.threshold = 0.7;
  EXPECT_THAT(one_score().score(with).column<std::int64_t>("prediction"), ElementsAre(1, 0, 0));
}

TEST(Multilabel, RecordsLabels) {
  const Scored scored = three_labels().score(
      multilabel({SaveColumns::probabilities, SaveColumns::logits, SaveColumns::labels}));

  EXPECT_THAT(names_of(scored),
              ElementsAre("index", "label", "logits", "loss", "prediction", "probabilities"));
  EXPECT_EQ(scored.specs[4], (predictions::ColumnSpec{"prediction", DType::u8, {3}}));
  EXPECT_THAT(scored.column<std::uint8_t>("label"), ElementsAre(1, 1, 0, 0, 255, 1, 255, 255, 255));
  EXPECT_THAT(scored.column<std::uint8_t>("prediction"), ElementsAre(1, 0, 0, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(scored.column<float>("logits"), ElementsAre(2, -1, 0, -3, 1, 4, 1, 1, 1));
  EXPECT_EQ(scored.column<float>("probabilities")[3], logistic(-3));
  const auto loss = scored.column<float>("loss");
  EXPECT_NEAR(loss[1], (std::log1p(std::exp(-3.0)) + std::log1p(std::exp(-4.0))) / 2, 1e-7)
      << "of the labels that are scored";
  EXPECT_THAT(loss[2], IsNan());
  EXPECT_EQ(scored.results.counts.ignored, 1);
  EXPECT_EQ(scored.results.find("exact_match")->value, 0.5);
}

TEST(Labelwise, ListsSamplesWithNanOrInf) {
  auto one = one_score();
  one.scores[1] = std::numeric_limits<float>::infinity();
  const Scored of_one = one.score(binary());
  EXPECT_THAT(of_one.collected.not_finite, ElementsAre(41));
  EXPECT_THAT(of_one.column<std::int64_t>("prediction"), ElementsAre(1, -1, 1));
  EXPECT_THAT(of_one.column<float>("confidence")[1], IsNan());
  EXPECT_EQ(of_one.results.counts.without_scores, 1);

  auto three = three_labels();
  three.scores[4] = kNaN;
  const Scored of_three = three.score(multilabel());
  EXPECT_THAT(of_three.collected.not_finite, ElementsAre(41));
  EXPECT_THAT(of_three.column<std::uint8_t>("prediction"),
              ElementsAre(1, 0, 0, 255, 255, 255, 1, 1, 1));
}

TEST(Labelwise, RecountsRetainedSamples) {
  TaskOptions with = multilabel();
  with.keep_rows = true;
  auto batch = three_labels();
  batch.scores[0] = kNaN;
  const auto task = make_task(with);
  const Scored scored = batch.score(with);
  const auto& retained = scored.collected.retained;
  ASSERT_EQ(retained.num_rows, 3);
  ASSERT_EQ(task->retained_columns().size(), 3u);

  exact::State again(task->resample_layout());
  task->resample_rows(retained).count(std::vector<std::uint8_t>{0, 2, 1}, again);
  const metrics::Results results = task->finalize_resampled(again);
  EXPECT_EQ(results.units.count, 3);
  EXPECT_EQ(results.counts.ignored, 1);
  EXPECT_EQ(results.counts.labels_scored, 4);
  EXPECT_EQ(results.find("accuracy")->value, 1.0);

  std::vector<float> scores(9);
  std::vector<std::uint8_t> targets(9);
  EXPECT_EQ(class_scores_of(*task).num_score_classes(), 3);
  class_scores_of(*task).one_vs_rest_scores(retained, scores, targets);
  EXPECT_EQ(scores[3], logistic(-3));
  EXPECT_THAT(targets, ElementsAre(2, 2, 2, 0, 2, 1, 2, 2, 2));
}

TEST(Labelwise, KeepsScoresForMetricsThatNeedTheirOrder) {
  TaskOptions with = binary();
  EXPECT_TRUE(make_task(with)->retained_columns().empty());
  with.metrics.names = {"auroc"};
  const auto task = make_task(with);
  EXPECT_EQ(class_scores_of(*task).num_score_classes(), 1);
  std::vector<float> scores(3);
  std::vector<std::uint8_t> targets(3);
  class_scores_of(*task).one_vs_rest_scores(one_score().score(with).collected.retained, scores,
                                            targets);
  EXPECT_EQ(scores[1], logistic(-1));
  EXPECT_THAT(targets, ElementsAre(1, 1, 2));

  with.metrics.names = {"confusion_matrix"};
  with.keep_rows = true;
  const auto small = make_task(with);
  EXPECT_THROW(small->resample_layout()->find("confusion.matrix"), Error);
}

TEST(Labelwise, RefusesOutputsThatDoNotFitTheDataSet) {
  const auto one = make_task(binary());
  for (const Shape& shape : {Shape{4}, Shape{4, 1}, Shape{4, 2}}) {
    EXPECT_NO_THROW(one->check_outputs(outputs_of(shape)));
  }
  for (const Shape& shape : {Shape{4, 3}, Shape{}, Shape{4, 1, 1}}) {
    EXPECT_EQ(kind_of([&] { one->check_outputs(outputs_of(shape)); },
                      to_string(shape) + ", expected [rows], [rows, 1] or [rows, 2]"),
              ErrorKind::model);
  }
  const auto three = make_task(multilabel());
  EXPECT_NO_THROW(three->check_outputs(outputs_of(Shape{4, 3})));
  EXPECT_EQ(kind_of([&] { three->check_outputs(outputs_of(Shape{4})); },
                    "[4], expected [rows, 3] for the data set's 3 labels"),
            ErrorKind::model);
  auto batch = one_score();
  batch.score_shape = {2};
  EXPECT_EQ(kind_of([&] { batch.score(binary()); }, "2 rows for a batch of 3 samples"),
            ErrorKind::model);
}

TEST(Labelwise, NoticesOutputsOfAnotherKind) {
  TaskOptions with = binary();
  with.outputs = metrics::OutputKind::probabilities;
  EXPECT_EQ(kind_of([&] { one_score().score(with); }, "sample 40 are not probabilities"),
            ErrorKind::model);
}

TEST(Labelwise, RefusesWhatItCannotDo) {
  TaskOptions with = binary({SaveColumns::logits});
  with.outputs = metrics::OutputKind::log_probabilities;
  EXPECT_EQ(kind_of([&] { make_task(with); }, "model that returns log-probabilities"),
            ErrorKind::usage);
  EXPECT_EQ(kind_of([] { make_task(multilabel({SaveColumns::topk})); }, "multilabel has no topk"),
            ErrorKind::usage);
  with = binary();
  with.metrics.num_classes = 3;
  EXPECT_EQ(kind_of([&] { make_task(with); }, "3 classes, the task binary has 2"),
            ErrorKind::dataset);
  with = multilabel();
  with.targets = {"age"};
  EXPECT_EQ(kind_of([&] { make_task(with); }, "targets [age], expected 'label' for multilabel"),
            ErrorKind::dataset);
}

TEST(Labelwise, AnEmptyBatchIsNothing) {
  auto batch = three_labels();
  batch.label_shape = {1, 3};
  const Scored scored = batch.score(multilabel());
  EXPECT_EQ(scored.collected.records.num_rows, 0);
  EXPECT_EQ(scored.results.units.count, 0);
}

}  // namespace
}  // namespace tally::tasks
