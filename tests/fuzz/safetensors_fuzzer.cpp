// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <tally/weights/checkpoint.hpp>

#include "checkpoint_parts.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  return fuzz::read_or_refuse({ErrorKind::model}, [&] {
    const weights::MemorySource bytes(std::as_bytes(std::span(data, size)));
    fuzz::read_parts(weights::read_checkpoint(bytes, "weights.safetensors", {}), bytes);
  });
}
