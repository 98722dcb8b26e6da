// SPDX-License-Identifier: Apache-2.0
// The kernel of regressions against its CPU twin: rows and State, equal bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/metrics/regression_pass.hpp>

#include "gpu.hpp"

namespace tally::metrics {
namespace {

struct Values {
  std::int64_t num_outputs = 0;
  std::vector<float> predictions, targets;  // [samples, outputs]
};

// Of all magnitudes; some predictions are not finite.
Values random_values(std::int64_t size, std::int64_t num_outputs) {
  std::mt19937 random(static_cast<unsigned>(size + num_outputs));
  std::normal_distribution<float> normal;
  const auto value = [&] {
    return std::ldexp(normal(random), static_cast<int>(random() % 260) - 140);
  };
  Values values{num_outputs, {}, {}};
  for (std::int64_t i = 0; i < size * num_outputs; ++i) {
    values.targets.push_back(std::clamp(value(), -1e38f, 1e38f));
    values.predictions.push_back(random() % 50 == 0 ? std::numeric_limits<float>::infinity()
                                                    : std::clamp(value(), -1e38f, 1e38f));
  }
  return values;
}

struct Outcome {
  std::vector<std::byte> state;
  std::vector<std::uint64_t> indices;  // of the last batch's rows
  std::vector<std::uint32_t> values;   // bits of their predictions and targets
  std::vector<std::uint8_t> finite;
  bool operator==(const Outcome&) const = default;
};

Outcome score(const device::Device& device, const Values& values, std::int64_t batch) {
  const std::int64_t outputs = values.num_outputs;
  const MetricSet metrics({.task = "regression", .num_classes = outputs, .names = {"all"}});
  const device::Stream stream(device);
  exact::State state(metrics.layout());
  DeviceAccumulator counts(state, stream);
  const RegressionPass pass(metrics);
  RegressionBatch rows(batch, outputs, device);
  const auto predictions = on_device(values.predictions, stream);
  const auto targets = on_device(values.targets, stream);
  const std::int64_t size = std::ssize(values.targets) / outputs;
  for (std::int64_t first = 0; first < size; first += batch) {
    const std::int64_t count = std::min(batch, size - first);
    const auto view = [&](const device::DeviceBuffer& of) {
      return contiguous_view(of.as<float>() + first * outputs, DType::f32, {count, outputs},
                             device.kind);
    };
    pass.enqueue(first, count, view(predictions), view(targets), counts, rows);
    counts.batch_enqueued(count);
  }
  counts.finish();
  Outcome outcome;
  const auto bytes = state.bytes();
  outcome.state.assign(bytes.begin(), bytes.end());
  for (const RegressionRecord& row : rows.rows()) {
    outcome.indices.push_back(row.index);
    outcome.finite.push_back(row.finite);
    for (std::int64_t i = 0; i < outputs; ++i) {
      outcome.values.push_back(std::bit_cast<std::uint32_t>(row.predictions[i]));
      outcome.values.push_back(std::bit_cast<std::uint32_t>(row.targets[i]));
    }
  }
  return outcome;
}

class RegressionPassOnGpu : public OnGpu {};

TEST_F(RegressionPassOnGpu, GivesTheCpusBits) {
  for (const std::int64_t outputs : {1, 2, 7, 8, 9, 100}) {
    const Values values = random_values(517, outputs);
    for (const std::int64_t batch : {1, 16, 64, 517}) {
      EXPECT_TRUE(score(gpu_, values, batch) == score(cpu_, values, batch))
          << outputs << " outputs, batch " << batch;
    }
  }
}

TEST_F(RegressionPassOnGpu, GivesTheCpusBitsAtEdges) {
  for (const std::int64_t size : {1, 31, 33}) {
    for (const std::int64_t outputs : {1, 7, 8, 9}) {
      const Values values = random_values(size, outputs);
      EXPECT_TRUE(score(gpu_, values, size) == score(cpu_, values, size))
          << outputs << " outputs, " << size << " samples";
    }
  }
}

TEST_F(RegressionPassOnGpu, CountsManyBatchesWithCarriesBetween) {
  const Values values = random_values(20'000, 3);
  EXPECT_TRUE(score(gpu_, values, 16) == score(cpu_, values, 16));
}

TEST_F(RegressionPassOnGpu, RefusesATargetThatIsNotFinite) {
  Values values = random_values(64, 10);
  values.targets[405] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(score(gpu_, values, 64), Error);
}

}  // namespace
}  // namespace tally::metrics
