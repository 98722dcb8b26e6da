// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/resampling.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/poisson_weight.hpp>

namespace tally::evaluate {
namespace {

// What is kept of a window's rows, or the rows prepared of it, shall lie in a core's cache.
constexpr std::int64_t kMostRows = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{512} << 10;

std::int64_t window_rows(const RetainedSamples& retained) {
  std::int64_t row_bytes = 0;
  for (const auto& column : retained.log.columns()) row_bytes += column.row_bytes();
  return std::clamp<std::int64_t>(kMostBytes / std::max<std::int64_t>(1, row_bytes), 1, kMostRows);
}

// One State for each subgroup or replicate.
std::vector<exact::State> fresh_states(const tasks::Resampling& task, std::int64_t count) {
  return std::vector<exact::State>(to_size(count), exact::State(task.resample_layout()));
}

}  // namespace

void read_window(const RetainedSamples& retained, std::int64_t first, std::int64_t count,
                 predictions::RecordBatch& window) {
  const auto& columns = retained.log.columns();
  window.num_rows = count;
  window.columns.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    window.columns[c].resize(to_size(count * columns[c].row_bytes()));
    retained.log.read(static_cast<std::int64_t>(c), first, count, window.columns[c]);
  }
}

void for_each_window(const RetainedSamples& retained, const VisitWindow& visit) {
  predictions::RecordBatch window;
  const std::int64_t rows = window_rows(retained);
  for (std::int64_t first = 0; first < retained.log.num_rows(); first += rows) {
    read_window(retained, first, std::min(rows, retained.log.num_rows() - first), window);
    visit(first, window);
  }
}

std::vector<exact::State> count_groups(const RetainedSamples& retained, std::int64_t num_groups,
                                       std::span<const std::int32_t> codes) {
  auto states = fresh_states(retained.task, num_groups);
  for_each_window(retained, [&](std::int64_t first, const predictions::RecordBatch& window) {
    const auto of_window = codes.subspan(to_size(first), to_size(window.num_rows));
    // One pass over the rows counts all subgroups, since each row belongs to one.
    retained.task.resample_rows(window).count_apart(of_window, states);
  });
  return states;
}

std::vector<exact::State> count_replicates(const RetainedSamples& retained, std::int64_t seed,
                                           std::int64_t first, std::int64_t count) {
  auto states = fresh_states(retained.task, count);
  std::vector<std::uint8_t> weights;
  // Windows are the outer loop: retained rows may lie on a disk, and are read and prepared once for
  // all these replicates.
  for_each_window(retained, [&](std::int64_t first_row, const predictions::RecordBatch& window) {
    const metrics::PrecomputedUpdates rows = retained.task.resample_rows(window);
    weights.resize(to_size(window.num_rows));
    for (std::int64_t r = 0; r < count; ++r) {
      const metrics::PoissonWeights of_replicate(static_cast<std::uint64_t>(seed),
                                                 static_cast<std::uint64_t>(first + r));
      // Weights follow from the global index, so that no replicate depends on the number of ranks.
      of_replicate.fill(static_cast<std::uint64_t>(retained.first_index + first_row), weights);
      rows.count(weights, states[to_size(r)]);
    }
  });
  return states;
}

}  // namespace tally::evaluate
