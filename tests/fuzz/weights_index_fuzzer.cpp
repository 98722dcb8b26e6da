// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_parts.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally::fuzz;
  return read_folder("shards", "model.safetensors.index.json", text_of(data, size));
}
