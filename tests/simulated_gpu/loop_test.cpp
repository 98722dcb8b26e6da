// SPDX-License-Identifier: Apache-2.0
// The loop over a data set, from its file to counts and records: on the simulated GPU it must find
// what it finds on the CPU, in whatever order the GPU works.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>

#include "raw_hdf5.hpp"
#include "sample_file.hpp"
#include "simulated_gpu.hpp"
#include "test_predictors.hpp"

namespace tally::evaluate {
namespace {

constexpr std::int64_t kClasses = 5;
constexpr std::int64_t kBatch = 4;
constexpr int kReadThreads = 2;

float score_of(float pixel, std::int64_t candidate) {
  return pixel * static_cast<float>(candidate - 2) - static_cast<float>(candidate * candidate);
}

// A network whose forward pass is work of the stream.
class QueuedPredictor : public model::Predictor {
 public:
  QueuedPredictor(const device::Stream& stream, std::int64_t most_rows)
      : stream_(stream), scores_(most_rows * kClasses * 4, stream.device()) {}

  model::Outputs predict(std::span<const TensorView> inputs) override {
    auto input = inputs.front();
    input.device = DeviceKind::cpu;
    const auto rows = input.shape.front();
    const auto num_bytes = to_size(num_elements(input.shape)) * sizeof(float);
    const auto num_score_bytes = to_size(rows * kClasses) * sizeof(float);
    auto* const scores = scores_.data();
    simulated_gpu::enqueue_work(static_cast<cudaStream_t>(stream_.handle()), "a forward pass",
                                {{input.data, num_bytes}}, {{scores, num_score_bytes}},
                                [this, input, scores, num_score_bytes] {
                                  const auto found = network_->predict({&input, 1});
                                  std::memcpy(scores, found.front().data, num_score_bytes);
                                });
    return {contiguous_view(scores, DType::f32, {rows, kClasses}, DeviceKind::cuda)};
  }
  const std::optional<model::ModelCard>& card() const override { return network_->card(); }

 private:
  const device::Stream& stream_;
  device::DeviceBuffer scores_;
  std::unique_ptr<model::Predictor> network_ = model::make_function_predictor(kClasses, score_of);
};

std::vector<std::byte> bytes_of(const exact::State& state) {
  const auto bytes = state.bytes();
  return {bytes.begin(), bytes.end()};
}

class LastState : public Observer {
 public:
  void batch_done(std::int64_t, const exact::State& state) override {
    auto canonical = state;
    canonical.canonicalise();
    seen = bytes_of(canonical);
  }
  std::vector<std::byte> seen;
};

class ReaderSource : public BatchSource {
 public:
  explicit ReaderSource(data::BatchReader& reader) : reader_(reader) {}
  const data::Batch* next() override {
    const auto so_far = simulated_gpu::num_allocations();
    if (!before_) before_ = so_far;
    in_loop_ = so_far - *before_;
    return reader_.next();
  }
  // Between the first batch and the last.
  std::int64_t num_allocations() const { return in_loop_; }

 private:
  data::BatchReader& reader_;
  std::optional<std::int64_t> before_;
  std::int64_t in_loop_ = 0;
};

struct Outcome {
  std::vector<std::byte> state;
  std::vector<std::byte> records;
  std::int64_t host_waits = 0;   // in the loop
  std::int64_t allocations = 0;  // of the GPU and page-locked, in the loop
};

// All columns, one after the other.
std::vector<std::byte> rows_of(const predictions::PredictionLog& log) {
  std::vector<std::byte> rows;
  for (std::size_t column = 0; column < log.columns().size(); ++column) {
    const auto num_bytes = to_size(log.num_rows() * log.columns()[column].row_bytes());
    rows.resize(rows.size() + num_bytes);
    log.read(static_cast<std::int64_t>(column), 0, log.num_rows(), std::span(rows).last(num_bytes));
  }
  return rows;
}

class LoopOnSimulatedGpu : public testing::Test {
 protected:
  LoopOnSimulatedGpu() {
    device_.kind = DeviceKind::cuda;
    data::SampleFile{.num_samples = 90}.write(folder_ / "set.h5");
  }

  Outcome evaluate(const device::Device& device, std::int64_t num_samples = 90,
                   const std::string& task_name = "multiclass") {
    data::DataSet set(folder_ / "set.h5");
    const device::Stream stream(device);
    std::unique_ptr<model::Predictor> predictor = std::make_unique<QueuedPredictor>(stream, kBatch);
    if (device.kind == DeviceKind::cpu) {
      predictor = model::make_function_predictor(kClasses, score_of);
    }
    tasks::TaskOptions options{.task = task_name};
    options.metrics.task = task_name;
    options.metrics.num_classes = kClasses;
    options.save = {tasks::SaveColumns::labels};
    const auto task = tasks::make_task(options);
    auto bindings = map_inputs(set.info(), *predictor, kBatch, device).bindings;
    warm_up_batch(set.info(), kBatch, bindings, *predictor, *task, stream);

    const plan::BatchGrid grid(num_samples, kBatch);
    const int held = batches_in_flight(device);
    const auto slot_bytes = data::slot_bytes(set.info(), kBatch);
    std::vector<device::HostBuffer> memory;
    std::vector<std::span<std::byte>> slots;
    for (int i = 0; i < held + 1 + kReadThreads; ++i) {
      slots.push_back(memory.emplace_back(slot_bytes, device).bytes());
    }
    data::BatchReader reader(set, grid, {0, grid.num_batches()}, slots,
                             {.threads = kReadThreads, .held = held});
    ReaderSource source(reader);
    predictions::PredictionLog log(task->columns(), folder_.path(), 1 << 20);
    predictions::PredictionLog kept(task->retained_columns(), folder_.path(), 1 << 20);
    LastState observer;
    exact::State state(task->layout());
    const auto before = simulated_gpu::num_host_waits();
    LoopInputs parts{stream,     kBatch, slot_bytes, held, source,  bindings,
                     *predictor, *task,  log,        kept, observer};
    parts.info = &set.info();
    run(parts, state);
    Outcome outcome;
    outcome.host_waits = simulated_gpu::num_host_waits() - before;
    outcome.allocations = source.num_allocations();
    outcome.state = bytes_of(state);
    EXPECT_EQ(observer.seen, outcome.state) << task_name;
    EXPECT_EQ(log.num_rows(), num_samples);
    outcome.records = rows_of(log);
    return outcome;
  }

  raw::TemporaryFolder folder_;
  device::Device device_;
};

TEST_F(LoopOnSimulatedGpu, FindsWhatTheCpuFindsInAnyOrder) {
  const auto expected = evaluate({});
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    simulated_gpu::restart(seed);
    const auto found = evaluate(device_);
    EXPECT_EQ(found.state, expected.state) << seed;
    EXPECT_EQ(found.records, expected.records) << seed;
  }
}

// Of tasks whose outputs go to the host, too.
TEST_F(LoopOnSimulatedGpu, TakesNoMemoryInTheLoop) {
  for (const std::string task : {"multiclass", "predict"}) {
    const auto found = evaluate(device_, 90, task);
    EXPECT_EQ(found.allocations, 0) << task;
    EXPECT_EQ(found.records, evaluate({}, 90, task).records) << task;
  }
}

TEST_F(LoopOnSimulatedGpu, MoreBatchesAreNoMoreWaits) {
  const auto few = evaluate(device_, 20);
  EXPECT_EQ(evaluate(device_, 90).host_waits, few.host_waits);
}

}  // namespace
}  // namespace tally::evaluate
