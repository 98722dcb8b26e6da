// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_parts.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally::fuzz;
  return read_folder("deepspeed", "global_step3/mp_rank_00_model_states.pt", text_of(data, size));
}
