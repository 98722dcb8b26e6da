// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/resampling.hpp>

#include <algorithm>
#include <numeric>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/metrics/poisson_weight.hpp>

namespace tally::evaluate {
namespace {

// What is kept of a window's rows, or the rows prepared of it, shall lie in a core's cache.
constexpr std::int64_t kMostRows = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{512} << 10;

std::int64_t window_rows(const RetainedSamples& retained) {
  const predictions::PredictionLog& log = retained.log;
  std::int64_t bytes = 0;
  for (std::int64_t c = 0; c < std::ssize(log.columns()); ++c) {
    const predictions::ColumnSpec& spec = log.columns()[to_size(c)];
    bytes += (spec.ragged ? log.num_elements(c) : log.num_rows()) * spec.row_bytes();
  }
  // Ragged rows take what they take in the mean.
  const std::int64_t row_bytes = bytes / std::max<std::int64_t>(1, log.num_rows());
  return std::clamp<std::int64_t>(kMostBytes / std::max<std::int64_t>(1, row_bytes), 1, kMostRows);
}

void read_fixed(const predictions::PredictionLog& log, std::size_t column, std::int64_t first,
                predictions::RecordBatch& window) {
  window.columns[column].resize(to_size(window.num_rows * log.columns()[column].row_bytes()));
  log.read(static_cast<std::int64_t>(column), first, window.num_rows, window.columns[column]);
}

// Reads rows of a ragged column whose elements begin at `first_element`, and returns where those of
// the next row begin.
std::int64_t read_ragged(const predictions::PredictionLog& log, std::size_t column,
                         std::int64_t first, std::int64_t first_element,
                         predictions::RecordBatch& window) {
  const auto c = static_cast<std::int64_t>(column);
  auto& lengths = window.lengths[column];
  lengths.resize(to_size(window.num_rows));
  log.read_lengths(c, first, window.num_rows, std::as_writable_bytes(std::span(lengths)));
  const std::int64_t count = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  window.columns[column].resize(to_size(count * log.columns()[column].row_bytes()));
  log.read_elements(c, first_element, count, window.columns[column]);
  return first_element + count;
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
  for (std::size_t c = 0; c < columns.size(); ++c) read_fixed(retained.log, c, first, window);
}

void for_each_window(const RetainedSamples& retained, const VisitWindow& visit) {
  const predictions::PredictionLog& log = retained.log;
  const std::size_t num_columns = log.columns().size();
  predictions::RecordBatch window;
  window.columns.resize(num_columns);
  window.lengths.resize(num_columns);
  // Windows follow one another, so that the elements of each begin where those before it end.
  std::vector<std::int64_t> next_elements(num_columns);
  const std::int64_t rows = window_rows(retained);
  for (std::int64_t first = 0; first < log.num_rows(); first += rows) {
    made_progress();
    window.num_rows = std::min(rows, log.num_rows() - first);
    for (std::size_t c = 0; c < num_columns; ++c) {
      if (log.columns()[c].ragged) {
        next_elements[c] = read_ragged(log, c, first, next_elements[c], window);
      } else {
        read_fixed(log, c, first, window);
      }
    }
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
