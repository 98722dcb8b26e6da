// SPDX-License-Identifier: Apache-2.0
// Finds the fastest batch size by trying: it is doubled for as long as that pays.
#pragma once

#include <cstdint>
#include <functional>

namespace tally::evaluate {

struct BatchSizes {
  std::int64_t smallest = 1;
  std::int64_t largest = 1;  // at least `smallest`
  double most_s = 1;         // no larger batch is tried once one took so long
};

// `seconds_of_batch` runs one batch of that size; what it throws for the smallest one passes
// through, for a larger one it means that this is too large (memory). Larger sizes have to save 3 %
// of the time per sample: below that is noise, and small batches share samples out more evenly.
std::int64_t fastest_batch_size(const BatchSizes& sizes,
                                const std::function<double(std::int64_t)>& seconds_of_batch);

}  // namespace tally::evaluate
