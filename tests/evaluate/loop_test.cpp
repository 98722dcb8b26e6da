// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/plan/coverage.hpp>
#include <tally/trace/span_recording.hpp>

#include "test_predictors.hpp"

namespace tally::evaluate {
namespace {

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kClasses = 3;

// Batches of one float input (the class to predict) and labels, from a list of grid indices.
class ListedBatches : public BatchSource {
 public:
  ListedBatches(plan::BatchGrid grid, std::vector<std::int64_t> indices)
      : grid_(grid), indices_(std::move(indices)) {}

  const data::Batch* next() override {
    if (at_ == indices_.size()) return nullptr;
    batch_.index = indices_[at_++];
    batch_.samples = grid_.samples_of(batch_.index);
    for (std::size_t row = 0; row < to_size(kBatch); ++row) {
      const auto sample = batch_.samples.first + static_cast<std::int64_t>(row);
      inputs_[row] = static_cast<float>(sample % kClasses);
      labels_[row] = (sample / 2) % kClasses;
    }
    batch_.inputs = {contiguous_view(inputs_.data(), DType::f32, {kBatch})};
    batch_.targets = {contiguous_view(labels_.data(), DType::i64, {kBatch})};
    return &batch_;
  }

 private:
  plan::BatchGrid grid_;
  std::vector<std::int64_t> indices_;
  std::size_t at_ = 0;
  data::Batch batch_;
  std::vector<float> inputs_ = std::vector<float>(kBatch);
  std::vector<std::int64_t> labels_ = std::vector<std::int64_t>(kBatch);
};

// Prefers the class given as input.
std::unique_ptr<model::Predictor> one_hot_predictor() {
  return model::make_function_predictor(kClasses, [](float input, std::int64_t candidate) {
    return input == static_cast<float>(candidate) ? 2.0F : 0.0F;
  });
}

class CountingObserver : public Observer {
 public:
  void batch_done(std::int64_t samples_done, const exact::State&) override {
    seen.push_back(samples_done);
  }
  std::vector<std::int64_t> seen;
};

struct Outcome {
  metrics::Results results;
  std::vector<std::byte> state;
  std::int64_t rows = 0;
  std::vector<std::int64_t> progress;
  LoopStats stats;  // of the last rank
};

// Runs the given batches of the grid as the slices of several ranks, merged.
Outcome evaluate(const plan::BatchGrid& grid,
                 const std::vector<std::vector<std::int64_t>>& batches_of_ranks,
                 int in_flight = 1) {
  tasks::TaskOptions options;
  options.metrics.num_classes = kClasses;
  options.save = {tasks::SaveColumns::labels};
  const auto task = tasks::make_task(options);
  exact::State merged(task->layout());
  Outcome outcome;
  for (const auto& batches : batches_of_ranks) {
    ListedBatches source(grid, batches);
    std::vector<InputBinding> bindings(1);
    const auto predictor = one_hot_predictor();
    predictions::PredictionLog log(task->columns(), "/tmp", 1 << 20);
    predictions::PredictionLog retained(task->retained_columns(), "/tmp", 1 << 20);
    CountingObserver observer;
    exact::State state(task->layout());
    const device::Stream stream{device::Device{}};
    const auto times = run({stream, kBatch, 0, in_flight, source, bindings, *predictor, *task, log,
                            retained, observer},
                           state);
    EXPECT_EQ(times.samples, log.num_rows());
    merged.merge(std::move(state));
    outcome.rows += log.num_rows();
    outcome.progress = observer.seen;
    outcome.stats = times;
  }
  outcome.results = task->finalize(merged);
  const auto bytes = merged.bytes();
  outcome.state.assign(bytes.begin(), bytes.end());
  return outcome;
}

plan::CoverageEvidence evidence_of(const metrics::Results& results) {
  return {results.units.count, results.units.index_sum, results.units.index_mix};
}

TEST(Loop, SeesEverySampleOnceAndNoPadding) {
  const plan::BatchGrid grid(10, kBatch);
  const auto outcome = evaluate(grid, {{0, 1, 2}});
  EXPECT_EQ(evidence_of(outcome.results), plan::expected_evidence({0, 10}));
  EXPECT_EQ(outcome.rows, 10);
  EXPECT_EQ(outcome.progress, (std::vector<std::int64_t>{4, 8, 10}));
}

TEST(Loop, AnyNumberOfBatchesInFlightGivesTheSame) {
  const plan::BatchGrid grid(30, kBatch);
  const auto one = evaluate(grid, {{0, 1, 2, 3, 4, 5, 6, 7}});
  for (const int in_flight : {2, 4, 20}) {
    const auto several = evaluate(grid, {{0, 1, 2, 3, 4, 5, 6, 7}}, in_flight);
    EXPECT_EQ(several.state, one.state);
    EXPECT_EQ(several.rows, one.rows);
    EXPECT_EQ(several.progress, one.progress);
  }
}

TEST(Loop, AnySplitGivesTheSameBits) {
  const plan::BatchGrid grid(18, kBatch);
  const auto whole = evaluate(grid, {{0, 1, 2, 3, 4}});
  EXPECT_EQ(evaluate(grid, {{0, 1}, {2, 3}, {4}}).state, whole.state);
  EXPECT_EQ(evaluate(grid, {{}, {4}, {0, 1, 2, 3}, {}}).state, whole.state);
}

TEST(Loop, ItsSpansMakeItsSums) {
  trace::Recorder recorder({100, 100});
  const auto found = evaluate(plan::BatchGrid(10, kBatch), {{0, 1, 2}}, 2).stats;
  std::map<std::string, double> seconds;
  std::map<std::string, std::vector<std::int64_t>> samples;
  for (const trace::Event& event : recorder.take()) {
    const std::string name(event.name());
    seconds[name] += static_cast<double>(event.end_ns - event.begin_ns) * 1e-9;
    if (event.batch.index >= 0) samples[name].push_back(event.batch.samples);
  }
  EXPECT_NEAR(seconds["wait_for_data"], found.wait_s, 1e-12);
  EXPECT_NEAR(seconds["prepare"], found.prepare_s, 1e-12);
  EXPECT_NEAR(seconds["forward"], found.predict_s, 1e-12);
  EXPECT_NEAR(seconds["metrics"] + seconds["records"], found.score_s, 1e-12);
  EXPECT_NEAR(seconds["wait_for_device"], found.device_wait_s, 1e-12);
  EXPECT_EQ(samples.size(), 7u) << "and the progress";
  for (const auto& [name, of_batches] : samples) {
    EXPECT_EQ(of_batches, (std::vector<std::int64_t>{4, 4, 2})) << name;
  }
}

TEST(Loop, ADroppedBatchShowsInTheEvidence) {
  const plan::BatchGrid grid(12, kBatch);
  const auto evidence = evidence_of(evaluate(grid, {{0, 2}}).results);
  EXPECT_NE(evidence, plan::expected_evidence({0, 12}));
  EXPECT_EQ(evidence.count, 8);
}

TEST(Loop, ARepeatedBatchInPlaceOfAnotherShowsInTheEvidence) {
  const plan::BatchGrid grid(12, kBatch);
  const auto evidence = evidence_of(evaluate(grid, {{0, 1, 1}}).results);
  EXPECT_NE(evidence, plan::expected_evidence({0, 12}));
  EXPECT_EQ(evidence.count, 12) << "the count alone would not have told";
}

}  // namespace
}  // namespace tally::evaluate
