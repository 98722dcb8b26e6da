// SPDX-License-Identifier: Apache-2.0
// Ways to give the rows of a set to ranks, all contiguous and in rank order.
#pragma once

#include <cstdint>

namespace tally::distributed_metrics {

struct Slice {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

inline constexpr int kNumSlicings = 4;

// 0: even; 1: uneven; 2: all on the last rank; 3: the first and every other rank empty.
inline Slice slice_of(int how, std::int64_t num_rows, std::int64_t rank, std::int64_t size) {
  const auto begin = [&](std::int64_t r) -> std::int64_t {
    switch (how) {
      case 0:
        return num_rows * r / size;
      case 1:
        return num_rows * r * r / (size * size);
      case 2:
        return r == size ? num_rows : 0;
      default:
        return r == size ? num_rows : num_rows * (r / 2) / ((size + 1) / 2);
    }
  };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

}  // namespace tally::distributed_metrics
