// SPDX-License-Identifier: Apache-2.0
// Folders of DeepSpeed: the fp32 weights that ZeRO 1, 2 or 3 keeps in parts of flat tensors, put
// together as DeepSpeed's own zero_to_fp32.py does; without ZeRO, the module.
#pragma once

#include <filesystem>
#include <string_view>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

// Error(model), also for a key: ZeRO's files have nothing that it could name.
Checkpoint open_deepspeed(const std::filesystem::path& folder, std::string_view key);

}  // namespace tally::weights
