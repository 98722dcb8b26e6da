// SPDX-License-Identifier: Apache-2.0
// Writes any checkpoint as one safetensors file.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

// names: of the tensors in the new file, each with the one that it has in the checkpoint. The file
// lies at partial_path(path) until it is complete; one that is at `path` stays. The CRC-32 of what
// is read from zip archives is compared. Holds a piece of 64 MiB, or the largest part, at a
// time, and of a part that is not row-major a copy besides.
// Error(model) where the checkpoint cannot be read or is damaged, Error(output) where the file
// cannot be written.
void write_safetensors(const Checkpoint& checkpoint,
                       const std::map<std::string, std::string>& names,
                       const std::filesystem::path& path);

}  // namespace tally::weights
