// SPDX-License-Identifier: Apache-2.0
// A segmentation's batches, in flight one after the other as in the loop: pixels are predicted on
// the GPU and counted on the CPU, which finds what it finds alone.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/tasks/task.hpp>

#include "simulated_gpu.hpp"

namespace tally::tasks {
namespace {

constexpr std::int64_t kImages = 3, kClasses = 4, kHeight = 5, kWidth = 7;
constexpr int kBatches = 6;
constexpr std::size_t kInFlight = 2;

TaskOptions options() {
  return {.task = "segmentation",
          .metrics = {.task = "segmentation", .num_classes = kClasses, .ignore_index = 255},
          .save = {SaveColumns::labels, SaveColumns::masks},
          .keep_rows = true};
}

// Of one batch; scores with ties, and one in a hundred that is no number.
struct Values {
  explicit Values(unsigned seed) {
    std::mt19937 random(seed);
    for (auto& score : scores) {
      score = random() % 100 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                  : static_cast<float>(random() % 4);
    }
    for (auto& label : labels) {
      label = random() % 9 == 0 ? 255 : static_cast<std::uint8_t>(random() % kClasses);
    }
  }
  std::vector<float> scores = std::vector<float>(kImages * kClasses * kHeight * kWidth);
  std::vector<std::uint8_t> labels = std::vector<std::uint8_t>(kImages * kHeight * kWidth);
};

// A batch in the device's memory.
struct OnDevice {
  OnDevice(const Values& values, const device::Stream& stream)
      : host_scores(std::ssize(values.scores) * 4, stream.device()),
        host_labels(std::ssize(values.labels), stream.device()),
        scores(host_scores.num_bytes(), stream.device()),
        labels(host_labels.num_bytes(), stream.device()) {
    std::memcpy(host_scores.data(), values.scores.data(), values.scores.size() * 4);
    std::memcpy(host_labels.data(), values.labels.data(), values.labels.size());
    if (stream.device().kind == DeviceKind::cpu) return;
    stream.copy_to_device(scores.data(), host_scores.bytes());
    stream.copy_to_device(labels.data(), host_labels.bytes());
  }

  std::vector<TensorView> views(const device::HostBuffer& host, const device::DeviceBuffer& there,
                                DType type, const Shape& shape, DeviceKind kind) const {
    auto* const data = kind == DeviceKind::cpu ? host.data() : there.data();
    return {contiguous_view(data, type, shape, kind)};
  }

  device::HostBuffer host_scores, host_labels;
  device::DeviceBuffer scores, labels;
};

struct InFlightBatch {
  std::unique_ptr<BatchScorer> scorer;
  device::Event done;
};

struct Outcome {
  std::vector<std::byte> state;
  std::vector<std::byte> records;
  std::vector<std::int64_t> not_finite;
  bool operator==(const Outcome&) const = default;
};

void collect(InFlightBatch& flight, Outcome& outcome) {
  flight.done.wait();
  CollectedBatch collected;
  flight.scorer->collect(collected);
  for (const auto* records : {&collected.records, &collected.retained}) {
    for (const auto& column : records->columns) {
      outcome.records.insert(outcome.records.end(), column.begin(), column.end());
    }
  }
  outcome.not_finite.insert(outcome.not_finite.end(), collected.not_finite.begin(),
                            collected.not_finite.end());
}

Outcome evaluate(const device::Device& device) {
  const auto task = make_task(options());
  const device::Stream stream(device);
  std::vector<OnDevice> batches;
  for (unsigned i = 0; i < kBatches; ++i) batches.emplace_back(Values(i), stream);
  const auto scores = [&](const OnDevice& batch) {
    return batch.views(batch.host_scores, batch.scores, DType::f32,
                       {kImages, kClasses, kHeight, kWidth}, device.kind);
  };
  task->bind_output_shapes(scores(batches.front()));
  exact::State state(task->layout());
  metrics::DeviceAccumulator counts(state, stream);
  std::vector<InFlightBatch> flights;
  for (std::size_t i = 0; i < kInFlight; ++i) {
    flights.push_back({task->make_scorer(kImages, device), device::Event(device)});
  }
  Outcome outcome;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    InFlightBatch& flight = flights[i % kInFlight];
    if (i >= kInFlight) collect(flight, outcome);
    const auto outputs = scores(batches[i]);
    const auto targets = batches[i].views(batches[i].host_labels, batches[i].labels, DType::u8,
                                          {kImages, kHeight, kWidth}, device.kind);
    flight.scorer->enqueue({.first_index = static_cast<std::int64_t>(i) * kImages,
                            .num_samples = kImages,
                            .outputs = outputs,
                            .targets = targets},
                           counts);
    flight.done.record(stream);
  }
  counts.finish();
  for (std::size_t i = batches.size() - kInFlight; i < batches.size(); ++i) {
    collect(flights[i % kInFlight], outcome);
  }
  counts.add_counts_of_host();
  const auto bytes = state.bytes();
  outcome.state.assign(bytes.begin(), bytes.end());
  return outcome;
}

TEST(SegmentationOnSimulatedGpu, FindsWhatTheCpuFindsInAnyOrder) {
  const auto expected = evaluate({});
  EXPECT_FALSE(expected.not_finite.empty());
  device::Device gpu;
  gpu.kind = DeviceKind::cuda;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulated_gpu::restart(seed);
    EXPECT_EQ(evaluate(gpu), expected) << seed;
  }
}

}  // namespace
}  // namespace tally::tasks
