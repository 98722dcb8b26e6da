// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <tally/device/launch.cuh>

#include "passes/multilabel_kernel.hpp"

namespace tally::metrics {
namespace {

constexpr int kThreads = 128;

// Returns whether row i can be counted; if not, marks it.
__device__ bool check_row(const LabelVerdict& verdict, std::int64_t i, BadRows& bad) {
  const auto mark = mark_of_row(static_cast<unsigned long long>(i));
  if (!verdict.good_targets) atomicMax(&bad.label, mark);
  if (!verdict.fits_kind) atomicMax(&bad.wrong_kind, mark);
  return verdict.good_targets && verdict.fits_kind;
}

// Each thread has a row of its own. It adds the losses of the labels in their order, as the CPU
// does, so that both find the same bits.
__global__ void label_rows(const LabelsToScore rows) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= rows.num_rows) return;
  const std::int64_t first = i * rows.batch.num_labels;
  const LabelPlace place{rows.place.probabilities + first, rows.place.targets + first};
  MultilabelRecord row;
  row.index = static_cast<std::uint64_t>(rows.first_index + i);
  const LabelVerdict verdict = compute_sample_statistics(rows.batch.row(i), rows.rules, row, place);
  if (!check_row(verdict, i, *rows.bad)) return;

  rows.rows[i] = row;
  std::int64_t* const counts = rows.counts;
  const LabelSample sample{row, place.probabilities, place.targets, rows.batch.num_labels};
  rows.counters.count(sample, [counts](std::int64_t offset, std::int64_t value) {
    // In two's complement adding unsigned numbers adds signed ones.
    atomicAdd(reinterpret_cast<unsigned long long*>(counts + offset),
              static_cast<unsigned long long>(value));
  });
}

}  // namespace

void launch_label_rows(const LabelsToScore& rows, void* stream) {
  if (rows.num_rows == 0) return;
  const std::int64_t blocks = (rows.num_rows + kThreads - 1) / kThreads;
  device::launch("label_rows", label_rows, blocks, kThreads, stream, rows);
}

}  // namespace tally::metrics
