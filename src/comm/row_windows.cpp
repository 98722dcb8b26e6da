#include <tally/comm/row_windows.hpp>

#include <algorithm>
#include <numeric>

namespace tally::comm {
namespace {

// Rows of `window` among the `count` rows from `first` on, counted from `first`.
RowRange part_of(const RowRange& window, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = std::clamp<std::int64_t>(window.first - first, 0, count);
  const std::int64_t end = std::clamp<std::int64_t>(window.first + window.count - first, 0, count);
  return {begin, end - begin};
}

}  // namespace

std::vector<std::int64_t> RowWindow::counts() const {
  std::vector<std::int64_t> counts;
  for (const RowRange& part : parts) counts.push_back(part.count);
  return counts;
}

RowWindows::RowWindows(std::span<const std::int64_t> rows_per_rank, std::int64_t row_bytes,
                       std::int64_t window_bytes)
    : rows_per_rank_(rows_per_rank.begin(), rows_per_rank.end()),
      num_rows_(std::accumulate(rows_per_rank.begin(), rows_per_rank.end(), std::int64_t{0})),
      max_rows_(std::max<std::int64_t>(1, window_bytes / std::max<std::int64_t>(1, row_bytes))) {}

std::optional<RowWindow> RowWindows::next() {
  if (first_ >= num_rows_) return std::nullopt;
  RowWindow window{.rows = {first_, std::min(max_rows_, num_rows_ - first_)}, .parts = {}};
  window.parts.reserve(rows_per_rank_.size());
  std::int64_t rank_first = 0;
  for (const std::int64_t count : rows_per_rank_) {
    window.parts.push_back(part_of(window.rows, rank_first, count));
    rank_first += count;
  }
  first_ += window.rows.count;
  return window;
}

}  // namespace tally::comm
