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

std::vector<RowWindow> row_windows(std::span<const std::int64_t> rows_per_rank,
                                   std::int64_t row_bytes, std::int64_t window_bytes) {
  const std::int64_t num_rows =
      std::accumulate(rows_per_rank.begin(), rows_per_rank.end(), std::int64_t{0});
  const std::int64_t max_rows =
      std::max<std::int64_t>(1, window_bytes / std::max<std::int64_t>(1, row_bytes));
  std::vector<RowWindow> windows;
  for (std::int64_t first = 0; first < num_rows; first += max_rows) {
    RowWindow window{.rows = {first, std::min(max_rows, num_rows - first)}, .parts = {}};
    window.parts.reserve(rows_per_rank.size());
    std::int64_t rank_first = 0;
    for (const std::int64_t count : rows_per_rank) {
      window.parts.push_back(part_of(window.rows, rank_first, count));
      rank_first += count;
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

}  // namespace tally::comm
