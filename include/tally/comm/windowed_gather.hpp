// Brings the rows of all ranks to rank 0 in global order, window by window, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::comm {

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

}  // namespace tally::comm
