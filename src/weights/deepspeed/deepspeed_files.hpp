// SPDX-License-Identifier: Apache-2.0
// Which files a folder of DeepSpeed holds, by their names.
#pragma once

#include <filesystem>
#include <vector>

namespace tally::weights {

struct DeepSpeedFiles {
  // mp_rank_00_model_states.pt, or zero_pp_rank_R_mp_rank_00_model_states.pt of each rank R.
  std::vector<std::filesystem::path> model_states;
  // zero_pp_rank_R_mp_rank_00_optim_states.pt, behind bf16_ or fp16_ too; none without ZeRO.
  std::vector<std::filesystem::path> optim_states;
};

// Error(model) naming a file of a model that is split in another way (model-parallel, pipelines,
// experts), or the file of a rank that is missing.
DeepSpeedFiles find_deepspeed_files(const std::filesystem::path& folder);

}  // namespace tally::weights
