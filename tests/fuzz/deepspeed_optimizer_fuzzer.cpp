// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_parts.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally::fuzz;
  return read_folder("deepspeed", "global_step3/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
                     text_of(data, size));
}
