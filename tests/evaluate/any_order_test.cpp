// SPDX-License-Identifier: Apache-2.0
// The loop over batches whose samples are not in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/evaluate/loop.hpp>

#include "expect_error.hpp"
#include "test_predictors.hpp"

namespace tally::evaluate {
namespace {

using testing::ElementsAre;

using Indices = std::vector<std::int64_t>;
constexpr std::int64_t kBatch = 3;

struct Given {
  Indices indices;
  bool ends_block = true;
};

class GivenBatches : public BatchSource {
 public:
  explicit GivenBatches(std::vector<Given> given) : given_(std::move(given)) {}

  const data::Batch* next() override {
    if (at_ == given_.size()) return nullptr;
    const Given& given = given_[at_];
    batch_ = {.index = static_cast<std::int64_t>(at_++),
              .samples = {std::ranges::min(given.indices), std::ssize(given.indices)},
              .inputs = {contiguous_view(inputs_.data(), DType::f32, {kBatch})},
              .targets = {},
              .memory = {},
              .indices = given.indices,
              .ends_block = given.ends_block};
    return &batch_;
  }

 private:
  std::vector<Given> given_;
  std::size_t at_ = 0;
  data::Batch batch_;
  std::vector<float> inputs_ = std::vector<float>(kBatch);
};

void append_bytes(std::span<const std::int64_t> values, predictions::RecordBatch& rows) {
  const auto bytes = std::as_bytes(values);
  rows = {std::ssize(values), {{bytes.begin(), bytes.end()}}, {}};
}

// Records the index of each sample and keeps ten times it; odd ones are not finite.
class IndexScorer : public tasks::BatchScorer {
 public:
  void enqueue(const tasks::ScoredBatch& batch, metrics::DeviceAccumulator&) override {
    indices_.assign(batch.indices.begin(), batch.indices.end());
  }
  void collect(tasks::CollectedBatch& collected) override {
    append_bytes(indices_, collected.records);
    Indices tens;
    collected.not_finite.clear();
    for (const std::int64_t index : indices_) {
      tens.push_back(10 * index);
      if (index % 2 == 1) collected.not_finite.push_back(index);
    }
    append_bytes(tens, collected.retained);
  }

 private:
  Indices indices_;
};

class IndexTask : public tasks::Task {
 public:
  std::shared_ptr<const exact::StateLayout> layout() const override { return metrics_.layout(); }
  std::vector<predictions::ColumnSpec> columns() const override {
    return {{"index", DType::i64, {}}};
  }
  void check_outputs(std::span<const TensorView>) const override {}
  std::unique_ptr<tasks::BatchScorer> make_scorer(std::int64_t,
                                                  const device::Device&) const override {
    return std::make_unique<IndexScorer>();
  }
  metrics::Results finalize(const exact::State& state) const override {
    return metrics_.finalize(state);
  }
  const std::vector<std::string>& metrics() const override { return metrics_.options().names; }
  std::vector<predictions::ColumnSpec> retained_columns() const override {
    return {{"tens", DType::i64, {}}};
  }
  std::shared_ptr<const exact::StateLayout> resample_layout() const override { return layout(); }
  metrics::PrecomputedUpdates resample_rows(const predictions::RecordBatch&) const override {
    return {metrics_, std::span<const metrics::MulticlassRecord>()};
  }
  metrics::Results finalize_resampled(const exact::State& state) const override {
    return finalize(state);
  }

 private:
  metrics::MetricSet metrics_{{.num_classes = 2}};
};

// How many rows were in the log after each batch.
class LogObserver : public Observer {
 public:
  explicit LogObserver(const predictions::PredictionLog& log) : log_(log) {}
  void batch_done(std::int64_t, const exact::State&) override { rows.push_back(log_.num_rows()); }
  Indices rows;

 private:
  const predictions::PredictionLog& log_;
};

Indices rows_in(const predictions::PredictionLog& log) {
  Indices rows(to_size(log.num_rows()));
  log.read(0, 0, log.num_rows(), std::as_writable_bytes(std::span(rows)));
  return rows;
}

struct Outcome {
  Indices records, retained, rows_after;
  NotFinite not_finite;
};

enum class Logged { all, kept_only };

Outcome evaluate(const std::vector<Given>& batches, int in_flight, Logged logged = Logged::all,
                 std::int64_t most_not_finite = 100) {
  IndexTask task;
  GivenBatches source(batches);
  std::vector<InputBinding> bindings(1);
  const auto predictor = model::make_function_predictor(2, [](float, std::int64_t) { return 0; });
  predictions::PredictionLog log(
      logged == Logged::all ? task.columns() : std::vector<predictions::ColumnSpec>(), "/tmp",
      1 << 20);
  predictions::PredictionLog retained(task.retained_columns(), "/tmp", 1 << 20);
  LogObserver observer(log);
  exact::State state(task.layout());
  const device::Stream stream{device::Device{}};
  const auto stats = run({stream, kBatch, 0, in_flight, source, bindings, *predictor, task, log,
                          retained, observer, /*are_classes=*/false, most_not_finite},
                         state);
  Outcome outcome{{}, rows_in(retained), observer.rows, stats.not_finite};
  if (logged == Logged::all) outcome.records = rows_in(log);
  return outcome;
}

// Two blocks of batches, then one without any order.
const std::vector<Given> kBatches{
    {{4, 0, 5}, false}, {{3, 1, 2}, true}, {{8, 6}, false}, {{9, 7}, true}, {{11, 12, 10}, true}};

TEST(AnyOrder, RecordsEndInTheOrderOfTheSamples) {
  for (const int in_flight : {1, 2, 4}) {
    const Outcome outcome = evaluate(kBatches, in_flight);
    EXPECT_THAT(outcome.records, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    EXPECT_THAT(outcome.retained,
                ElementsAre(0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120));
    EXPECT_THAT(outcome.rows_after, ElementsAre(0, 6, 6, 10, 13)) << "a block at a time";
  }
}

TEST(AnyOrder, WhatIsNotLoggedIsNotMissed) {
  const Outcome outcome = evaluate(kBatches, 1, Logged::kept_only);
  EXPECT_EQ(outcome.retained.size(), 13U);
  EXPECT_THAT(outcome.rows_after, ElementsAre(0, 0, 0, 0, 0));
}

TEST(AnyOrder, SamplesThatAreNotFiniteAreListedInOrder) {
  const Outcome outcome = evaluate(kBatches, 2);
  EXPECT_EQ(outcome.not_finite.count, 6);
  EXPECT_THAT(outcome.not_finite.first_indices, ElementsAre(1, 3, 5, 7, 9, 11));
}

TEST(AnyOrder, TooManyOfThemEndTheLoopAtTheEndOfABlock) {
  expect_error(ErrorKind::numeric, {"1, 3, 5"}, [] { evaluate(kBatches, 1, Logged::all, 2); });
  EXPECT_EQ(evaluate(kBatches, 1, Logged::all, 6).not_finite.count, 6);
}

TEST(AnyOrder, NothingIsRecordedOfNothing) {
  const Outcome outcome = evaluate({}, 2);
  EXPECT_THAT(outcome.records, testing::IsEmpty());
  EXPECT_EQ(outcome.not_finite.count, 0);
}

}  // namespace
}  // namespace tally::evaluate
