// SPDX-License-Identifier: Apache-2.0
#include <tally/model/micro_batches.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tally::model {
namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Pieces cut(std::int64_t batch_size, int threads, std::int64_t wanted, std::int64_t least) {
  const auto most = divided_up(batch_size, threads);
  least = std::min(least, most);
  wanted = std::clamp(wanted, least, most);
  // First come the samples of the thread that has most of them, filled-up ones included; among
  // equals, the distance from the wanted size, by its logarithm.
  const auto cost = [&](std::int64_t size) {
    const auto samples_of_thread = divided_up(divided_up(batch_size, size), threads) * size;
    const auto ratio = static_cast<double>(size) / static_cast<double>(wanted);
    return std::tuple(samples_of_thread, std::abs(std::log(ratio)));
  };
  auto best = wanted;
  for (auto size = std::max(least, wanted / 2); size <= std::min(2 * wanted, most); ++size) {
    if (cost(size) < cost(best)) best = size;
  }
  return {best, divided_up(batch_size, best)};
}

}  // namespace tally::model
