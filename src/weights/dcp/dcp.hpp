// SPDX-License-Identifier: Apache-2.0
// Folders of torch.distributed.checkpoint: .metadata, and files of chunks of tensors.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

// Of any number of ranks that trained. Error(model) unless the chunks of each tensor are the whole
// tensor and lie where .metadata says.
Checkpoint open_dcp(const std::filesystem::path& folder, std::string_view key);

// .metadata and the files it names. Error(model) if one is missing.
std::vector<std::filesystem::path> dcp_files(const std::filesystem::path& folder);

}  // namespace tally::weights
