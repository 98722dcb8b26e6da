// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/tasks/task.hpp>

#include "outputs_of.hpp"

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr std::int64_t kClasses = 6;

TaskOptions options(std::vector<SaveColumns> save = {SaveColumns::labels}) {
  return {.metrics = {.num_classes = kClasses, .ignore_index = -1}, .save = std::move(save)};
}

// Three samples from index 40 on and a row of padding that must not be touched.
struct Batch {
  std::vector<float> scores{0,
                            1,
                            2,
                            3,
                            4,
                            5,  //
                            7,
                            7,
                            0,
                            0,
                            0,
                            7,  //
                            1,
                            0,
                            0,
                            0,
                            0,
                            0,  //
                            std::numeric_limits<float>::quiet_NaN(),
                            0,
                            0,
                            0,
                            0,
                            0};
  std::vector<std::int64_t> labels{3, 5, -1, 99};
  std::vector<TensorView> outputs{contiguous_view(scores.data(), DType::f32, {4, kClasses})};
  std::vector<TensorView> targets{contiguous_view(labels.data(), DType::i64, {4})};

  ScoredBatch view() {
    return {.first_index = 40, .num_samples = 3, .outputs = outputs, .targets = targets};
  }
};

struct Scored {
  metrics::Results results;
  std::vector<predictions::ColumnSpec> specs;
  predictions::RecordBatch records;
  tasks::CollectedBatch collected;

  template <class T>
  std::vector<T> column(const std::string& name) const {
    for (std::size_t c = 0; c < specs.size(); ++c) {
      if (specs[c].name != name) continue;
      std::vector<T> values(records.columns[c].size() / sizeof(T));
      std::memcpy(values.data(), records.columns[c].data(), records.columns[c].size());
      return values;
    }
    throw std::runtime_error("no column " + name);
  }
};

Scored score(const TaskOptions& with, const ScoredBatch& batch) {
  const auto task = make_task(with);
  exact::State state(task->layout());
  Scored scored{.results = {}, .specs = task->columns(), .records = {}, .collected = {}};
  const device::Device cpu;
  const device::Stream stream(cpu);
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task->make_scorer(batch.outputs.front().shape[0], cpu);
  scorer->enqueue(batch, counts);
  scorer->collect(scored.collected);
  scored.records = scored.collected.records;
  scored.results = task->finalize(state);
  return scored;
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

TEST(Multiclass, RecordsLabels) {
  Batch batch;
  const Scored scored = score(options(), batch.view());

  EXPECT_EQ(scored.records.num_rows, 3);
  EXPECT_THAT(scored.column<std::int64_t>("index"), ElementsAre(40, 41, 42));
  EXPECT_THAT(scored.column<std::int64_t>("label"), ElementsAre(3, 5, -1));
  EXPECT_THAT(scored.column<std::int64_t>("prediction"), ElementsAre(5, 0, 0));
  EXPECT_THAT(scored.column<std::int32_t>("label_rank"), ElementsAre(2, 2, -1));
  const auto loss = scored.column<float>("loss");
  EXPECT_NEAR(loss[1], std::log(3 + 3 * std::exp(-7.0)), 1e-6);
  EXPECT_TRUE(std::isnan(loss[2]));
  EXPECT_NEAR(scored.column<float>("confidence")[2], 1 / (1 + 5 * std::exp(-1.0)), 1e-6);
}

TEST(Multiclass, ScoresTheSameRows) {
  Batch batch;
  const Scored scored = score(options(), batch.view());

  EXPECT_EQ(scored.results.units.count, 3);
  EXPECT_EQ(scored.results.counts.scored, 2);
  EXPECT_EQ(scored.results.counts.ignored, 1);
  EXPECT_EQ(scored.results.counts.tied, 1);
  EXPECT_EQ(scored.results.units.index_sum, 40u + 41u + 42u);
  EXPECT_EQ(scored.results.metrics.at(0).value, 0.0);
  EXPECT_EQ(scored.results.metrics.at(1).value, 1.0) << "accuracy_top5";
}

TEST(Multiclass, RecordsScoresInOrderOfTheirColumnsNames) {
  Batch batch;
  const Scored scored = score(options({SaveColumns::topk, SaveColumns::logits, SaveColumns::labels,
                                       SaveColumns::probabilities}),
                              batch.view());

  std::vector<std::string> names;
  for (const auto& spec : scored.specs) names.push_back(spec.name);
  EXPECT_THAT(names, ElementsAre("confidence", "index", "label", "label_rank", "logits", "loss",
                                 "prediction", "probabilities", "topk"));
  EXPECT_EQ(scored.specs.back(), (predictions::ColumnSpec{"topk", DType::i64, {5}}));
  EXPECT_THAT(scored.column<std::int64_t>("topk"),
              ElementsAre(5, 4, 3, 2, 1, 0, 1, 5, 2, 3, 0, 1, 2, 3, 4));
  EXPECT_THAT(scored.column<float>("logits"),
              Pointwise(testing::Eq(),
                        std::vector<float>(batch.scores.begin(), batch.scores.begin() + 18)));
  const auto probabilities = scored.column<float>("probabilities");
  ASSERT_EQ(probabilities.size(), 18u);
  EXPECT_EQ(probabilities[5], scored.column<float>("confidence")[0]);
  EXPECT_EQ(probabilities[6], probabilities[11]);
}

TEST(Multiclass, TopkOfFewClassesIsAllOfThem) {
  TaskOptions few = options({SaveColumns::topk});
  few.metrics.num_classes = 3;
  EXPECT_EQ(make_task(few)->columns().at(0).row_shape, Shape{3});
}

TEST(Multiclass, SavesNothingWhenNothingIsWanted) {
  Batch batch;
  const Scored scored = score(options({}), batch.view());
  EXPECT_TRUE(scored.specs.empty());
  EXPECT_TRUE(scored.records.columns.empty());
  EXPECT_EQ(scored.records.num_rows, 3);
}

TEST(Multiclass, AnEmptyBatchIsNothing) {
  Batch batch;
  ScoredBatch view = batch.view();
  view.num_samples = 0;
  const Scored scored = score(options(), view);
  EXPECT_EQ(scored.records.num_rows, 0);
  EXPECT_EQ(scored.results.units.count, 0);
}

TEST(Multiclass, FindsItsLabelsAmongOtherTargets) {
  Batch batch;
  batch.targets.insert(batch.targets.begin(), contiguous_view(nullptr, DType::f32, {4}));
  TaskOptions with = options();
  with.targets = {"age", "label"};
  EXPECT_EQ(score(with, batch.view()).results.units.count, 3);

  with.targets = {"age"};
  EXPECT_EQ(kind_of([&] { make_task(with); }, "targets [age], expected 'label'"),
            ErrorKind::dataset);
}

TEST(Multiclass, ListsSamplesWithNanOrInf) {
  Batch batch;
  batch.scores[kClasses] = std::numeric_limits<float>::infinity();
  const Scored scored = score(
      options({SaveColumns::labels, SaveColumns::topk, SaveColumns::probabilities}), batch.view());

  EXPECT_THAT(scored.collected.not_finite, ElementsAre(41));
  EXPECT_EQ(scored.results.counts.not_finite, 1);
  EXPECT_THAT(scored.column<std::int64_t>("prediction"), ElementsAre(5, -1, 0));
  EXPECT_THAT(scored.column<std::int32_t>("label_rank"), ElementsAre(2, -1, -1));
  EXPECT_EQ(scored.column<std::int64_t>("topk")[5], -1);
  EXPECT_TRUE(std::isnan(scored.column<float>("probabilities")[kClasses]));
}

TEST(Multiclass, RecountsRetainedSamples) {
  Batch batch;
  TaskOptions with = options();
  with.metrics.names = {"standard", "auroc_macro"};
  const auto task = make_task(with);
  const Scored scored = score(with, batch.view());
  const auto& retained = scored.collected.retained;
  ASSERT_EQ(retained.num_rows, 3);

  exact::State twice(task->resample_layout());
  const std::vector<std::uint8_t> weights{0, 2, 1};
  task->resample_rows(retained).count(weights, twice);
  const metrics::Results results = task->finalize_resampled(twice);
  EXPECT_EQ(results.units.count, 3);
  EXPECT_EQ(results.counts.scored, 2);
  EXPECT_TRUE(results.confusion.empty());
  EXPECT_NEAR(results.find("loss")->value.value(), std::log(3 + 3 * std::exp(-7.0)), 1e-12);

  std::vector<float> scores(18);
  std::vector<std::uint8_t> targets(18);
  class_scores_of(*task).one_vs_rest_scores(retained, scores, targets);
  EXPECT_EQ(scores[5], scored.column<float>("confidence")[0]);
  EXPECT_THAT(targets, ElementsAre(0, 0, 0, 1, 0, 0,  //
                                   0, 0, 0, 0, 0, 1,  //
                                   2, 2, 2, 2, 2, 2));
}

TEST(Multiclass, NoticesLogitsThatAreCalledProbabilities) {
  Batch batch;
  TaskOptions with = options();
  with.outputs = metrics::OutputKind::probabilities;
  EXPECT_EQ(kind_of([&] { score(with, batch.view()); }, "sample 40 are not probabilities"),
            ErrorKind::model);
}

TEST(Multiclass, RefusesOutputsThatDoNotFitTheDataSet) {
  const auto task = make_task(options());
  EXPECT_NO_THROW(task->check_outputs(outputs_of(Shape{4, kClasses})));
  for (const Shape& shape : {Shape{4, 5}, Shape{4, 1000}, Shape{4, kClasses, 1}, Shape{kClasses}}) {
    EXPECT_EQ(kind_of([&] { task->check_outputs(outputs_of(shape)); },
                      to_string(shape) + ", expected [rows, 6] for the data set's 6 classes"),
              ErrorKind::model);
  }
  Batch batch;
  const ScoredBatch short_of_rows = batch.view();
  batch.outputs.front().shape[0] = 2;
  EXPECT_EQ(kind_of([&] { score(options(), short_of_rows); }, "2 rows for a batch of 3 samples"),
            ErrorKind::model);
}

TEST(Multiclass, RefusesLogitsOfAModelThatHasNone) {
  TaskOptions with = options({SaveColumns::logits});
  with.outputs = metrics::OutputKind::probabilities;
  EXPECT_EQ(kind_of([&] { make_task(with); }, "logits cannot be saved"), ErrorKind::usage);
}

TEST(MakeTask, RefusesATaskItDoesNotKnow) {
  TaskOptions with = options();
  with.task = "ranking";
  EXPECT_EQ(
      kind_of([&] { make_task(with); },
              "task 'ranking' is not known. Known: binary, detection, language-model, multiclass, "
              "multilabel, multiple-choice, predict, question-answering, regression, "
              "segmentation, token-classification."),
      ErrorKind::usage);
}

}  // namespace
}  // namespace tally::tasks
