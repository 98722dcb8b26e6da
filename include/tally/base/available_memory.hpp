// SPDX-License-Identifier: Apache-2.0
// Asks the kernel how much memory is left for this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tally {

// Returns the bytes, 0 or more, that this process and those beside it can still take: of the node,
// or of its control groups (version 1 or 2) where these leave less, because batch systems give jobs
// a limit that way. Pages of files count as free. Returns nothing where the kernel does not say.
// `root` is the folder that holds proc and sys; tests give another.
std::optional<std::int64_t> available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace tally
