// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <tally/device/launch.cuh>

#include "passes/regression_kernel.hpp"

namespace tally::metrics {
namespace {

constexpr int kThreads = 128;
constexpr int kLanesPerRow = 8;
constexpr int kRowsPerBlock = kThreads / kLanesPerRow;

// Eight threads share a row. All that they add are integers, so that their order does not matter.
__global__ void count_values(const ValuesToCount values) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.x / kLanesPerRow;
  if (i >= values.num_rows) return;  // all lanes of a row together
  const int lane = static_cast<int>(threadIdx.x) % kLanesPerRow;
  const unsigned lanes = 0xffu << (threadIdx.x % warpSize / kLanesPerRow * kLanesPerRow);

  const std::int64_t outputs = values.num_outputs;
  const float* const predictions = values.predictions + i * values.prediction_stride;
  const float* const targets = values.targets + i * values.target_stride;
  // The values are copied into the block as well: on the host the records of the samples point
  // there.
  for (std::int64_t output = lane; output < outputs; output += kLanesPerRow) {
    values.found.predictions[i * outputs + output] = predictions[output];
    values.found.targets[i * outputs + output] = targets[output];
  }
  const bool good_predictions =
      __all_sync(lanes, all_finite(predictions, outputs, lane, kLanesPerRow));
  const bool good_targets = __all_sync(lanes, all_finite(targets, outputs, lane, kLanesPerRow));
  const RowMark mark = mark_of(good_predictions, good_targets);
  if (lane == 0) values.found.marks[i] = mark;
  // All lanes have the same mark and return together.
  if (mark == RowMark::target_not_finite) return;

  std::int64_t* const counts = values.counts;
  const RegressionRecord row{values.first_index + static_cast<std::uint64_t>(i), predictions,
                             targets, outputs, mark == RowMark::counted};
  const auto add = [counts](std::int64_t offset, std::int64_t value) {
    // In two's complement adding unsigned numbers adds signed ones.
    atomicAdd(reinterpret_cast<unsigned long long*>(counts + offset),
              static_cast<unsigned long long>(value));
  };
  values.counters.count(row, add, lane, kLanesPerRow);
}

}  // namespace

void launch_count_values(const ValuesToCount& values, void* stream) {
  if (values.num_rows == 0) return;
  const std::int64_t blocks = (values.num_rows + kRowsPerBlock - 1) / kRowsPerBlock;
  device::launch("count_values", count_values, blocks, kThreads, stream, values);
}

}  // namespace tally::metrics
