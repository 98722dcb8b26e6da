// Small files, read whole and written so that no reader ever sees half of one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>

namespace tally {

// All bytes of a regular file. Throws Error(kind) naming `what` ("model", "config file") and why.
std::vector<std::byte> read_file(const std::filesystem::path& path, ErrorKind kind,
                                 std::string_view what);

// Where a file lies until it is complete: beside `path`, named for this process. Whoever cleans up
// after a run relies on it.
std::filesystem::path partial_path(const std::filesystem::path& path);

// Writes beside `path`, syncs, renames, syncs the folder. Throws Error(output); then `path` is as
// it was and nothing else is left.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Syncs a finished temporary file, renames it to `path` and syncs the folder. Throws Error(output).
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path);
// The same, but a file that is at `path` stays, and this is an Error(output).
void publish_new_file(const std::filesystem::path& temporary, const std::filesystem::path& path);

}  // namespace tally
