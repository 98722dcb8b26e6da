// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/tasks/sequence_record.hpp>
#include <tally/tasks/task.hpp>

#include "expect_error.hpp"
#include "outputs_of.hpp"

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kIgnored = -100;
constexpr std::int64_t kRows = 3, kPlaces = 4, kVocabulary = 3, kScores = 5;

TaskOptions options(const std::string& task = "multiple-choice") {
  return {.task = task,
          .metrics = {.task = task, .num_classes = kVocabulary, .ignore_index = kIgnored},
          .save = {SaveColumns::labels},
          .targets = {"label", "choice", "unit"},
          .keep_rows = true};
}

// Two samples, not in order, and a row of padding that must not be touched. Of the model's five
// tokens the data set knows three.
struct Batch {
  Batch() { std::fill(logits.end() - kPlaces * kScores, logits.end(), kNan); }

  std::vector<float> logits = std::vector<float>(kRows * kPlaces * kScores, 1.0f);
  std::vector<std::int32_t> labels{kIgnored, 2,        0, kIgnored, 1, kIgnored,
                                   kIgnored, kIgnored, 0, 0,        0, 0};
  std::vector<std::int32_t> choices{3, 2, -1};
  std::vector<std::int64_t> units{8, 7, -1};
  std::vector<std::int64_t> indices{41, 40};
  std::vector<TensorView> targets{}, outputs{};

  float* at(std::int64_t row, std::int64_t place) {
    return logits.data() + (row * kPlaces + place) * kScores;
  }
  ScoredBatch view() {
    targets = {contiguous_view(labels.data(), DType::i32, {kRows, kPlaces}),
               contiguous_view(choices.data(), DType::i32, {kRows}),
               contiguous_view(units.data(), DType::i64, {kRows})};
    outputs = {contiguous_view(logits.data(), DType::f32, {kRows, kPlaces, kScores})};
    return {.first_index = 40,
            .num_samples = 2,
            .indices = indices,
            .outputs = outputs,
            .targets = targets};
  }
};

CollectedBatch score(const Task& task, const ScoredBatch& batch) {
  exact::State state(task.layout());
  const device::Device cpu;
  const device::Stream stream(cpu);
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task.make_scorer(kRows, cpu);
  scorer->enqueue(batch, counts);
  counts.finish();
  CollectedBatch collected;
  scorer->collect(collected);
  EXPECT_EQ(task.finalize(state).units.count, 0) << "units are counted later";
  return collected;
}

TEST(LanguageModel, AddsUpTheTokensOfEachSample) {
  Batch batch;
  batch.at(0, 1)[2] = 2;
  const auto task = make_task(options());
  const auto collected = score(*task, batch.view());
  EXPECT_THAT(collected.not_finite, IsEmpty());
  ASSERT_EQ(collected.retained.num_rows, 2);
  ASSERT_EQ(task->sample_columns().size(), 1U);
  EXPECT_EQ(std::ssize(collected.retained.columns.at(0)),
            2 * task->sample_columns()[0].row_bytes());
  const auto records = sequences_in(collected.retained.columns.at(0));
  EXPECT_EQ(records[0].index, 41);
  EXPECT_EQ(records[0].unit, 8);
  EXPECT_EQ(records[0].position, 3);
  EXPECT_EQ(records[0].tokens, 2);
  EXPECT_EQ(records[0].right, 2) << "of equal tokens the first is predicted";
  EXPECT_NEAR(records[0].loss, std::log(4 + std::exp(1)) - 1 + std::log(5.0), 1e-14);
  EXPECT_EQ(records[1].index, 40);
  EXPECT_EQ(records[1].tokens, 1);
  EXPECT_EQ(records[1].right, 0);
  EXPECT_EQ(records[1].in_top5, 1);
  EXPECT_NEAR(records[1].loss, std::log(5.0), 1e-15);
}

TEST(LanguageModel, ListsSamplesThatAreNotFinite) {
  Batch batch;
  batch.at(0, 0)[1] = kNan;  // not scored
  batch.at(1, 0)[4] = kNan;
  const auto task = make_task(options());
  const auto collected = score(*task, batch.view());
  EXPECT_THAT(collected.not_finite, ElementsAre(40));
  const auto records = sequences_in(collected.retained.columns.at(0));
  EXPECT_TRUE(records[0].finite == 1 && records[1].finite == 0);
  EXPECT_EQ(records[1].tokens, 1);
  EXPECT_EQ(records[1].right, 0);
  EXPECT_TRUE(std::isnan(records[1].loss));
}

TEST(LanguageModel, AddsUpExactly) {
  std::vector<metrics::TokenRecord> places(10, {.loss = 0.1, .rank = 7, .scored = true});
  places.push_back({.loss = 5, .rank = 0, .scored = false});
  places.push_back({.loss = 0x1p60, .rank = 4, .scored = true});
  SequenceRecord record;
  add_up(places, record);
  EXPECT_EQ(record.loss, 0x1p60);
  places.pop_back();
  record = {};
  add_up(places, record);
  EXPECT_EQ(record.loss, 1.0) << "ten tenths, added up in doubles, are less";
  EXPECT_EQ(record.tokens, 10);
  EXPECT_EQ(record.right + record.in_top5, 0);
}

TEST(LanguageModel, RefusesOtherOutputs) {
  const auto task = make_task(options("language-model"));
  EXPECT_TRUE(task->capabilities().is_order_independent);
  EXPECT_NO_THROW(task->check_outputs(outputs_of({2, 4, 3})));
  EXPECT_NO_THROW(task->check_outputs(outputs_of({2, 4, 9})));
  for (const Shape& shape : std::vector<Shape>{{2, 4, 2}, {2, 4}, {2, 0, 3}, {2, 4, 3, 1}}) {
    expect_error(ErrorKind::model, {"expected [rows, places, 3 or more]"},
                 [&] { task->check_outputs(outputs_of(shape)); });
  }
  expect_error(ErrorKind::model, {"expected floating-point scores"}, [&] {
    task->check_outputs(outputs_of({2, 4, 3}, DType::i64));
  });
  Batch batch;
  const auto choices = make_task(options());
  ScoredBatch view = batch.view();
  batch.outputs[0].shape[1] = 3;
  expect_error(ErrorKind::model, {"scores of 3 places, /targets/label has 4"},
               [&] { score(*choices, view); });
  batch.outputs[0].shape = {1, kPlaces, kScores};
  expect_error(ErrorKind::model, {"1 rows for a batch of 2"}, [&] { score(*choices, view); });
}

TEST(LanguageModel, ReadsBFloat16) {
  Batch batch;
  std::vector<std::uint16_t> ones(batch.logits.size(), 0x3f80);
  ScoredBatch view = batch.view();
  batch.outputs[0] = contiguous_view(ones.data(), DType::bf16, {kRows, kPlaces, kScores});
  const auto collected = score(*make_task(options()), view);
  const auto records = sequences_in(collected.retained.columns.at(0));
  EXPECT_NEAR(records[0].loss, 2 * std::log(5.0), 1e-14);
}

TEST(LanguageModel, NotesAVocabularyThatIsNotTheModels) {
  const auto task = make_task(options("language-model"));
  task->bind_output_shapes(outputs_of({2, 4, 3}));
  EXPECT_TRUE(task->notes().empty());
  task->bind_output_shapes(outputs_of({2, 4, 5}));
  ASSERT_EQ(task->notes().size(), 1u);
  EXPECT_TRUE(
      task->notes()[0].starts_with("the model scores 5 tokens, the data set's vocabulary "
                                   "has 3"));
  expect_error(ErrorKind::model, {"3 or more"}, [&] {
    task->bind_output_shapes(outputs_of({2, 4, 2}));
  });
}

TEST(LanguageModel, NamesTheSampleOfAnotherKind) {
  Batch batch;
  for (float& logit : batch.logits) logit = -1;
  batch.at(1, 0)[0] = 3;
  TaskOptions with = options();
  with.outputs = metrics::OutputKind::log_probabilities;
  const auto task = make_task(with);
  expect_error(ErrorKind::model, {"outputs for sample 40 are not log-probabilities"},
               [&] { score(*task, batch.view()); });
}

TEST(LanguageModel, RefusesOptionsThatMeanNothing) {
  for (const char* name : {"language-model", "multiple-choice"}) {
    TaskOptions with = options(name);
    with.save.push_back(SaveColumns::topk);
    expect_error(ErrorKind::usage, {"saves sums over tokens", "--save labels"},
                 [&] { make_task(with); });
    with = options(name);
    with.metrics.ignore_index.reset();
    expect_error(ErrorKind::dataset, {"needs an ignore_index"}, [&] { make_task(with); });
  }
  TaskOptions with = options();
  with.targets[1] = "class";
  expect_error(ErrorKind::dataset, {"no target 'choice'"}, [&] { make_task(with); });
  with.task = with.metrics.task = "language-model";
  EXPECT_NO_THROW(make_task(with));
  with.targets[2] = "class";
  expect_error(ErrorKind::dataset, {"no target 'unit'"}, [&] { make_task(with); });
}

TEST(LanguageModel, CountsDocumentsOnceAndAgain) {
  const auto task = make_task(options("language-model"));
  const LanguageModelTask& documents =
      *std::get<const LanguageModelTask*>(task->capabilities().units);
  const std::vector<metrics::SampleRecord> windows{{3, true}, {4, true}, {5, true}};
  const std::vector<metrics::LanguageModelRecord> rows{{.index = 1, .tokens = 4, .loss = 8},
                                                       {.index = 2, .tokens = 2, .loss = 1}};
  exact::State state(task->layout()), again(task->resample_layout());
  documents.count(windows, state);
  documents.count(rows, state);
  predictions::RecordBatch retained;
  for (const auto& row : rows) documents.retain(row, retained);
  EXPECT_EQ(task->finalize(state).samples().count, 3);
  EXPECT_EQ(task->finalize(state).find("loss")->value, 1.5);
  ASSERT_EQ(retained.num_rows, 2);
  EXPECT_EQ(std::ssize(retained.columns.at(0)), 2 * task->retained_columns().at(0).row_bytes());
  const std::vector<std::uint8_t> weights{0, 3};
  task->resample_rows(retained).count(weights, again);
  EXPECT_EQ(task->finalize_resampled(again).find("loss")->value, 0.5);
}

}  // namespace
}  // namespace tally::tasks
