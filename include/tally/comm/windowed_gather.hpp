// SPDX-License-Identifier: Apache-2.0
// Brings the rows of all ranks to rank 0 or to every rank, in global order, window by window, in
// bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::comm {

// Some rows that follow one another.
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

// Cuts the rows of all ranks, in global order, into windows of bounded size: pure arithmetic. The
// rows of rank 0 come first, then those of rank 1, and so on. Each window but the last holds as
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

// Rows that lie with this rank: `read(column, first, count, out)` fills `out` with rows counted
// from this rank's first one.
struct RowSource {
  std::int64_t num_rows = 0;
  std::vector<std::int64_t> row_bytes;  // per column, the same on every rank
  std::function<void(std::int64_t column, std::int64_t first, std::int64_t count,
                     std::span<std::byte> out)>
      read;
};

// Called on rank 0 only, in global row order for each column.
using RowSink = std::function<void(std::int64_t column, std::int64_t num_rows,
                                   std::span<const std::byte> rows)>;

// Collective. At most `window_bytes` (at least one row) are on their way at a time: no rank sends
// rows of a window before rank 0 has passed on the one before. Rank 0 holds no more than that.
// What `read` or `sink` throws is agreed on: then every rank throws AgreedFailure.
void gather_in_order(const Communicator& comm, const RowSource& source, std::int64_t window_bytes,
                     const RowSink& sink);

// Called on every rank with consecutive rows of one rank; the rows of rank 0 come first.
using SharedRows = std::function<void(std::int64_t rank, std::span<const std::byte> rows)>;

// Collective. Passes every rank's `local`, rows of `row_bytes`, to `take` on all ranks in rank
// order; a rank holds at most `window_bytes` (at least one row) of them at a time. Both sizes are
// the same on every rank. What `take` throws is agreed on: then every rank throws AgreedFailure.
void windowed_all_gather(const Communicator& comm, std::span<const std::byte> local,
                         std::int64_t row_bytes, std::int64_t window_bytes, const SharedRows& take);

}  // namespace tally::comm
