// SPDX-License-Identifier: Apache-2.0
// Predictions and targets for tests, and the way through the pass to results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/regression_pass.hpp>

namespace tally::metrics {

struct Values {
  std::int64_t num_outputs = 0;
  std::vector<float> predictions;  // [samples, outputs]
  std::vector<float> targets;

  std::int64_t size() const { return std::ssize(targets) / num_outputs; }
};

// Of many magnitudes, both signs.
inline Values random_values(std::int64_t size, std::int64_t num_outputs, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-60, 60);
  const auto count = to_size(size * num_outputs);
  Values values{num_outputs, std::vector<float>(count), std::vector<float>(count)};
  for (float& target : values.targets) target = std::ldexp(normal(random), exponent(random));
  for (std::size_t i = 0; i < count; ++i) {
    values.predictions[i] = values.targets[i] * (1.0f + 0.1f * normal(random));
  }
  return values;
}

// Adds samples [first, first + count) in batches of `batch`.
inline void add_values(const MetricSet& metrics, Values& values, std::int64_t first,
                       std::int64_t count, std::int64_t batch, exact::State& state) {
  const device::Device cpu;
  const device::Stream stream(cpu);
  DeviceAccumulator counts(state, stream);
  const RegressionPass pass(metrics);
  RegressionBatch rows(batch, values.num_outputs, cpu);
  for (std::int64_t done = 0; done < count; done += batch) {
    const std::int64_t size = std::min(batch, count - done);
    const std::int64_t at = (first + done) * values.num_outputs;
    const auto view = [&](std::vector<float>& of) {
      return contiguous_view(of.data() + at, DType::f32, {size, values.num_outputs});
    };
    pass.enqueue(first + done, size, view(values.predictions), view(values.targets), counts, rows);
  }
  counts.finish();
}

}  // namespace tally::metrics
