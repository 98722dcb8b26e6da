// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"
#include "progress_part.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto progress = fuzz::load(std::string(fuzz::text_of(data, size)), {});
  fuzz::require(!progress || progress->records_bytes == 0, "there are no records");
  return 0;
}
