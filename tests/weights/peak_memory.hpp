// SPDX-License-Identifier: Apache-2.0
// How much memory a piece of code takes, counted by the tests' own operator new.
#pragma once

#include <cstddef>

namespace tally::weights {

// Bytes that are in use, and the most since the last reset.
std::size_t used_memory();
std::size_t peak_memory();
void reset_peak_memory();

// The most that `call` has at any time beyond what was in use before.
template <class Call>
std::size_t peak_of(Call call) {
  const auto before = used_memory();
  reset_peak_memory();
  call();
  return peak_memory() - before;
}

}  // namespace tally::weights
