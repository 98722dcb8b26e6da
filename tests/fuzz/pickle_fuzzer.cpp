// SPDX-License-Identifier: Apache-2.0
#include <tally/base/byte_conversions.hpp>
#include <tally/weights/byte_source.hpp>

#include "harness.hpp"
#include "pickle/pickle_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  try {
    weights::PickleArena arena;
    weights::PickleReader(fuzz::text_of(data, size), arena).load();
  } catch (const weights::FormatError&) {
    ++fuzz::num_refused;
  }
  return 0;
}
