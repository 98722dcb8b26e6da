// SPDX-License-Identifier: Apache-2.0
// The kernel of a regression's pass behind a plain function. Twins: regression_kernel.cu and, in a
// build without CUDA, regression_kernel_no_cuda.cpp, which nobody calls there.
#pragma once

#include <cstdint>

#include "family_counters.hpp"

namespace tally::metrics {

// What became of a row.
enum class RowMark : std::uint8_t { counted, prediction_not_finite, target_not_finite };

// A batch as it goes to the host, in one block of memory.
struct ValueBlock {
  float* predictions = nullptr;  // [max_rows, outputs]; row i of the batch is row i here
  float* targets = nullptr;      // [max_rows, outputs]
  RowMark* marks = nullptr;      // [max_rows]

  static std::int64_t num_bytes(std::int64_t max_rows, std::int64_t num_outputs) {
    return max_rows * (2 * num_outputs * static_cast<std::int64_t>(sizeof(float)) + 1);
  }
  static ValueBlock in(void* memory, std::int64_t max_rows, std::int64_t num_outputs) {
    auto* const floats = static_cast<float*>(memory);
    const std::int64_t size = max_rows * num_outputs;
    return {floats, floats + size, reinterpret_cast<RowMark*>(floats + 2 * size)};
  }
};

// Everything one launch needs; pointers are to the device's memory.
struct ValuesToCount {
  const float* predictions = nullptr;
  std::int64_t prediction_stride = 0;  // from row to row
  const float* targets = nullptr;
  std::int64_t target_stride = 0;
  std::int64_t num_rows = 0;
  std::int64_t num_outputs = 0;
  std::uint64_t first_index = 0;
  RowCounters counters;
  std::int64_t* counts = nullptr;
  ValueBlock found;
};

constexpr RowMark mark_of(bool predictions_finite, bool targets_finite) {
  if (!targets_finite) return RowMark::target_not_finite;
  return predictions_finite ? RowMark::counted : RowMark::prediction_not_finite;
}

// Enqueues on `stream`, a cudaStream_t.
void launch_count_values(const ValuesToCount& values, void* stream);

}  // namespace tally::metrics
