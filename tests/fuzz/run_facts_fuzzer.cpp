// SPDX-License-Identifier: Apache-2.0
// What is taken is the same when it is written and taken again.
#include <tally/session/run_facts.hpp>

#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto found = app::facts_from(fuzz::text_of(data, size));
  if (!found) {
    ++fuzz::num_refused;
    return 0;
  }
  const auto text = app::to_text(*found);
  const auto again = app::facts_from(text);
  fuzz::require(again && app::to_text(*again) == text, "it is taken again");
  return 0;
}
