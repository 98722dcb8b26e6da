// SPDX-License-Identifier: Apache-2.0
// Decides how CPUs cut a batch: a piece is small enough for its tensors to stay in a core's cache,
// and each thread runs several pieces, one after the other.
#pragma once

#include <cstdint>

namespace tally::model {

struct Pieces {
  std::int64_t size = 0;   // samples in each; the last one is filled up where needed
  std::int64_t count = 0;  // of them
  bool operator==(const Pieces&) const = default;
};

// Pieces of about `wanted` samples, from half to twice as many and not less than `least`: those for
// which the threads compute the fewest samples each, then those nearest to `wanted`. Smaller ones
// where threads would have nothing to do.
Pieces cut(std::int64_t batch_size, int threads, std::int64_t wanted, std::int64_t least = 1);

// With fewer samples a network takes longer for each of them.
constexpr std::int64_t kLeastOfPiece = 4;

}  // namespace tally::model
