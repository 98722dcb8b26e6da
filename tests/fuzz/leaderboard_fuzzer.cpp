// SPDX-License-Identifier: Apache-2.0
// What is taken is written as a table, and is the same when it is read again.
#include <tally/watch/leaderboard.hpp>

#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  fuzz::write_input("leaderboard.jsonl", fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::output}, [] {
    const auto num_entries = watch::Leaderboard(".").entries().size();
    fuzz::require(watch::Leaderboard(".").entries().size() == num_entries, "the same entries");
  });
}
