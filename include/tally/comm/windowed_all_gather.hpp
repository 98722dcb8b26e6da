// Brings the rows of all ranks to every rank, window by window, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <tally/comm/communicator.hpp>

namespace tally::comm {

// Called on every rank with consecutive rows of one rank; the rows of rank 0 come first.
using SharedRows = std::function<void(std::int64_t rank, std::span<const std::byte> rows)>;

// Collective. Passes every rank's `local`, rows of `row_bytes`, to `take` on all ranks in rank
// order; a rank holds at most `window_bytes` (at least one row) of them at a time. Both sizes are
// the same on every rank. What `take` throws is agreed on: then every rank throws AgreedFailure.
void windowed_all_gather(const Communicator& comm, std::span<const std::byte> local,
                         std::int64_t row_bytes, std::int64_t window_bytes, const SharedRows& take);

}  // namespace tally::comm
