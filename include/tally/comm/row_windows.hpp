// Cuts the rows of all ranks, in global order, into windows of bounded size: pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tally::comm {

struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(const RowRange&) const = default;
};

struct RowWindow {
  RowRange rows;                // global
  std::vector<RowRange> parts;  // per rank, counted from that rank's own first row; may be empty

  // Of each part.
  std::vector<std::int64_t> counts() const;
};

// The rows of rank 0 come first, then those of rank 1, and so on. Each window but the last holds as
// many rows as fit into `window_bytes`, at least one. No rows, no windows. One window is held at a
// time: with thousands of ranks there may be millions.
class RowWindows {
 public:
  RowWindows(std::span<const std::int64_t> rows_per_rank, std::int64_t row_bytes,
             std::int64_t window_bytes);

  // The next window, empty after the last.
  std::optional<RowWindow> next();

 private:
  std::vector<std::int64_t> rows_per_rank_;
  std::int64_t num_rows_;
  std::int64_t max_rows_;
  std::int64_t first_ = 0;
};

}  // namespace tally::comm
