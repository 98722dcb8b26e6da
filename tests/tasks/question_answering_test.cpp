// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/tasks/task.hpp>

#include "expect_error.hpp"
#include "outputs_of.hpp"

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kRows = 4, kTokens = 6;

TaskOptions options() {
  return {.task = "question-answering",
          .metrics = {.task = "question-answering", .no_answer = true},
          .save = {SaveColumns::labels},
          .targets = {"unit", "context_begin", "context_end", "token_begin"},
          .keep_rows = true,
          .answer_limits = {.max_tokens = 3, .num_best = 5},
          .answer_policy = {.no_answer = true}};
}

enum class Outputs { two, one };

// Three samples, not in order, and a row of padding that must not be touched.
struct Batch {
  Batch() {
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    for (auto* logits : {&start, &end}) {
      for (float& logit : *logits) logit = normal(random);
      std::fill(logits->end() - kTokens, logits->end(), kNan);
    }
  }

  std::vector<float> start = std::vector<float>(kRows * kTokens), end = start;
  std::vector<float> both{};
  std::vector<std::int64_t> units{9, 8, 8, -1};
  std::vector<std::int32_t> begins{1, 2, 3, 99}, ends{4, 6, 3, -7}, tokens{0, 10, 20, -1};
  std::vector<std::int64_t> indices{42, 40, 41};
  std::vector<TensorView> targets{}, outputs{};

  ScoredBatch view(Outputs form = Outputs::two) {
    targets = {contiguous_view(units.data(), DType::i64, {kRows}),
               contiguous_view(begins.data(), DType::i32, {kRows}),
               contiguous_view(ends.data(), DType::i32, {kRows}),
               contiguous_view(tokens.data(), DType::i32, {kRows})};
    if (form == Outputs::two) {
      outputs = {contiguous_view(start.data(), DType::f32, {kRows, kTokens}),
                 contiguous_view(end.data(), DType::f32, {kRows, kTokens})};
    } else {
      both.clear();
      for (std::size_t i = 0; i < start.size(); ++i) both.insert(both.end(), {start[i], end[i]});
      outputs = {contiguous_view(both.data(), DType::f32, {kRows, kTokens, 2})};
    }
    return {.first_index = 40,
            .num_samples = 3,
            .indices = indices,
            .outputs = outputs,
            .targets = targets};
  }

  AnswerCandidates candidates(std::size_t row) const {
    const auto of_row = [&](const std::vector<float>& logits) {
      return std::span(logits).subspan(row * kTokens, kTokens);
    };
    return candidates_of(
        {units[row], begins[row], ends[row], tokens[row], of_row(start), of_row(end)},
        options().answer_limits);
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
  EXPECT_EQ(task.finalize(state).units.count, 0) << "questions are counted later";
  return collected;
}

TEST(QuestionAnswering, FindsTheCandidatesOfEachWindow) {
  Batch batch;
  const auto task = make_task(options());
  const auto retained = score(*task, batch.view()).retained;
  ASSERT_EQ(retained.num_rows, 3);
  ASSERT_EQ(task->sample_columns().size(), 1U);
  EXPECT_EQ(std::ssize(retained.columns.at(0)), 3 * task->sample_columns()[0].row_bytes());
  const auto records = records_in(retained.columns.at(0), options().answer_limits);
  ASSERT_EQ(records.size(), 3U);
  for (std::size_t row = 0; row < 3; ++row) {
    const AnswerCandidates expected = batch.candidates(row);
    EXPECT_EQ(records[row].index, batch.indices[row]);
    EXPECT_EQ(records[row].candidates.unit, batch.units[row]);
    EXPECT_EQ(records[row].candidates.best, expected.best);
    EXPECT_EQ(records[row].candidates.no_answer_score(), expected.no_answer_score());
  }
  EXPECT_FALSE(records[0].candidates.best.empty());
  EXPECT_THAT(records[2].candidates.best, IsEmpty()) << "no context";
}

TEST(QuestionAnswering, TakesBothLogitsInOneTensor) {
  Batch batch;
  const auto task = make_task(options());
  const auto two = score(*task, batch.view(Outputs::two));
  const auto one = score(*task, batch.view(Outputs::one));
  EXPECT_EQ(one.retained.columns, two.retained.columns);
}

TEST(QuestionAnswering, SamplesFollowOneAnotherWhereNothingElseIsSaid) {
  Batch batch;
  ScoredBatch in_order = batch.view();
  in_order.indices = {};
  const auto task = make_task(options());
  const auto retained = score(*task, in_order).retained;
  std::vector<std::int64_t> indices;
  for (const auto& record : records_in(retained.columns.at(0), options().answer_limits)) {
    indices.push_back(record.index);
  }
  EXPECT_THAT(indices, ElementsAre(40, 41, 42));
}

TEST(QuestionAnswering, ListsSamplesThatAreNotFinite) {
  Batch batch;
  batch.start[2] = kNan;                // in the context of the first row
  batch.end[kTokens] = kNan;            // the second's first token
  batch.start[2 * kTokens + 4] = kNan;  // outside the third's context
  const auto task = make_task(options());
  const auto collected = score(*task, batch.view());
  EXPECT_THAT(collected.not_finite, ElementsAre(42, 40));
  const auto records = records_in(collected.retained.columns.at(0), options().answer_limits);
  EXPECT_FALSE(records[0].candidates.finite || records[1].candidates.finite);
  EXPECT_TRUE(records[2].candidates.finite);
}

TEST(QuestionAnswering, CollectsEachBatchAnew) {
  Batch first, second;
  second.indices = {7, 8, 9};
  first.start[2] = kNan;
  const auto task = make_task(options());
  exact::State state(task->layout());
  const device::Device cpu;
  const device::Stream stream(cpu);
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task->make_scorer(kRows, cpu);
  CollectedBatch collected;
  for (Batch* batch : {&first, &second}) {
    scorer->enqueue(batch->view(), counts);
    scorer->collect(collected);
  }
  EXPECT_THAT(collected.not_finite, IsEmpty());
  EXPECT_EQ(collected.retained.columns, score(*task, second.view()).retained.columns);
}

TEST(QuestionAnswering, RefusesOtherOutputs) {
  const auto task = make_task(options());
  const auto refuse = [&](const std::vector<TensorView>& outputs, const std::string& found) {
    expect_error(
        ErrorKind::model,
        {"the model returned " + found + ", expected start and end logits, [rows, tokens] each"},
        [&] { task->check_outputs(outputs); });
  };
  const auto tensor = [](const Shape& shape, DType dtype = DType::f32) {
    return outputs_of(shape, dtype).front();
  };
  EXPECT_NO_THROW(task->check_outputs({{tensor({4, 8}), tensor({4, 8})}}));
  EXPECT_NO_THROW(task->check_outputs(outputs_of({4, 8, 2})));
  refuse(outputs_of({4, 8}), "[4, 8] float32");
  refuse(outputs_of({4, 8, 3}), "[4, 8, 3] float32");
  refuse(outputs_of({4, 8, 2}, DType::i64), "[4, 8, 2] int64");
  refuse(outputs_of({4, 0, 2}), "[4, 0, 2] float32");
  refuse({tensor({4, 8}), tensor({4, 9})}, "[4, 8] float32 and [4, 9] float32");
  refuse({tensor({4, 8}), tensor({4, 8}, DType::f64)}, "[4, 8] float32 and [4, 8] float64");
  refuse({tensor({4}), tensor({4})}, "[4] float32 and [4] float32");
  refuse({tensor({4, 0}), tensor({4, 0})}, "[4, 0] float32 and [4, 0] float32");
  refuse({tensor({4, 8}), tensor({4, 8}), tensor({4, 8})},
         "[4, 8] float32 and [4, 8] float32 and [4, 8] float32");

  Batch batch;
  ScoredBatch few = batch.view();
  for (TensorView& output : batch.outputs) output.shape[0] = 2;
  expect_error(ErrorKind::model, {"2 rows for a batch of 3"}, [&] { score(*task, few); });
}

TEST(QuestionAnswering, RefusesAContextThatIsNotThere) {
  const auto task = make_task(options());
  Batch batch;
  batch.ends[1] = 7;
  expect_error(ErrorKind::model,
               {"sample 40 has its context at tokens 2 to 7, the model returned logits of 6"},
               [&] { score(*task, batch.view()); });
  batch.ends[1] = 1;
  expect_error(ErrorKind::model, {"sample 40 has its context at tokens 2 to 1"},
               [&] { score(*task, batch.view()); });
}

TEST(QuestionAnswering, RefusesOptionsThatMeanNothing) {
  for (const SaveColumns group :
       {SaveColumns::topk, SaveColumns::probabilities, SaveColumns::logits}) {
    TaskOptions with = options();
    with.save.push_back(group);
    expect_error(ErrorKind::usage, {"saves answers only", "--save labels"},
                 [&] { make_task(with); });
  }
  TaskOptions kind = options();
  kind.outputs = metrics::OutputKind::probabilities;
  expect_error(ErrorKind::usage, {"sums of logits, not of probabilities"},
               [&] { make_task(kind); });
  for (std::size_t i = 0; i < 4; ++i) {
    TaskOptions with = options();
    const std::string name = with.targets[i];
    with.targets[i] = "label";
    expect_error(ErrorKind::dataset, {"the data set has no target '" + name + "'"},
                 [&] { make_task(with); });
  }
}

TEST(QuestionAnswering, CountsQuestionsOnceAndAgain) {
  const auto task = make_task(options());
  EXPECT_TRUE(task->capabilities().is_order_independent);
  const AnswerTask& answers = *std::get<const AnswerTask*>(task->capabilities().units);
  EXPECT_EQ(answers.limits().num_best, 5);
  EXPECT_TRUE(answers.policy().no_answer);
  const std::vector<metrics::SampleRecord> windows{{3, true}, {4, true}};
  const std::vector<metrics::QuestionAnsweringRecord> rows{
      {.index = 8, .exact = true, .f1 = 1}, {.index = 9, .has_answer = false, .f1 = 0}};
  exact::State state(task->layout()), again(task->resample_layout());
  answers.count(windows, state);
  answers.count(rows, state);
  predictions::RecordBatch retained;
  for (const auto& row : rows) answers.retain(row, retained);
  const metrics::Results results = task->finalize(state);
  EXPECT_EQ(results.units.count, 2);
  EXPECT_EQ(results.samples().count, 2);
  EXPECT_EQ(results.find("no_answer_f1")->value, 0.0);
  ASSERT_EQ(retained.num_rows, 2);
  EXPECT_EQ(std::ssize(retained.columns.at(0)), 2 * task->retained_columns().at(0).row_bytes());
  const std::vector<std::uint8_t> weights{3, 1};
  task->resample_rows(retained).count(weights, again);
  EXPECT_EQ(task->finalize_resampled(again).find("exact_match")->value, 0.75);
}

TEST(QuestionAnswering, KeepsAndSavesWhatIsAskedFor) {
  TaskOptions with = options();
  with.save.clear();
  with.keep_rows = false;
  const auto task = make_task(with);
  EXPECT_THAT(task->columns(), IsEmpty());
  EXPECT_THAT(task->retained_columns(), IsEmpty());
  EXPECT_EQ(task->sample_columns().size(), 1U) << "what answers are made of";
  predictions::RecordBatch retained;
  std::get<const AnswerTask*>(task->capabilities().units)->retain({}, retained);
  EXPECT_EQ(retained.num_rows, 0);
  EXPECT_EQ(make_task(options())->columns(), answer_columns({.no_answer = true}));
}

}  // namespace
}  // namespace tally::tasks
