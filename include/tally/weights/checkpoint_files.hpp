// SPDX-License-Identifier: Apache-2.0
// Lists the files that make up a checkpoint, without opening a tensor: to wait until it is whole.
#pragma once

#include <filesystem>
#include <vector>

namespace tally::weights {

// Of the checkpoint at `path`, a file or a folder: those that open_checkpoint() reads, all of which
// are there. Empty where nothing at `path` has the name of a checkpoint: files end in .pt, .pth,
// .th, .bin, .ckpt or .safetensors, or are the index of such files. Error(model) naming a file that
// is missing, or an index that cannot be read.
std::vector<std::filesystem::path> checkpoint_files(const std::filesystem::path& path);

}  // namespace tally::weights
