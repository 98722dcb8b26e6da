// SPDX-License-Identifier: Apache-2.0
// Remembers which files make up a checkpoint until they change.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace tally::watch {

// The files that make up the checkpoint which is this file or folder; empty if it is none. Throws
// Error(model) where it is one, but not whole yet: a shard is missing.
using FindFiles = std::function<std::vector<std::filesystem::path>(const std::filesystem::path&)>;

// `find`, asked no more once it has found the same files twice, unless one of them, or a folder
// that one lies in, is no longer as it was: the index of a checkpoint of thousands of chunks takes
// longer to read than a folder.
FindFiles cached(FindFiles find);

}  // namespace tally::watch
