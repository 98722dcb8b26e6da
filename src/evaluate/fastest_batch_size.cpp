// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/fastest_batch_size.hpp>

#include <optional>

#include <tally/base/error.hpp>

namespace tally::evaluate {
namespace {

// A smaller gain per sample is noise, and small batches share out more evenly among ranks.
constexpr double kWorthwhile = 0.97;

// An error of a larger size is taken for a lack of memory: none means that this size is too large.
std::optional<double> try_size(const std::function<double(std::int64_t)>& seconds_of_batch,
                               std::int64_t size) {
  try {
    return seconds_of_batch(size);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::int64_t fastest_batch_size(const BatchSizes& sizes,
                                const std::function<double(std::int64_t)>& seconds_of_batch) {
  std::int64_t best = sizes.smallest;
  double best_s = seconds_of_batch(best);
  while (best * 2 <= sizes.largest && best_s < sizes.most_s) {
    const auto seconds = try_size(seconds_of_batch, best * 2);
    // Twice as many samples must take less than twice the time.
    if (!seconds || *seconds > 2 * best_s * kWorthwhile) break;
    best *= 2;
    best_s = *seconds;
  }
  return best;
}

}  // namespace tally::evaluate
