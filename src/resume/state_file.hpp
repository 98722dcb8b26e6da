// SPDX-License-Identifier: Apache-2.0
// Writes and reads a state file: what a part has done so far, and the state of its sums.
//
// A line of JSON says the format, all numbers, and the lengths of what follows: identity,
// observations, the values of the state (int64, little-endian), and the SHA-256 of all bytes before
// it, as 64 hexadecimal digits. Identity and observations are not in the JSON because they may
// hold any bytes, such as those of paths that are no UTF-8.
#pragma once

#include <filesystem>
#include <optional>

#include <tally/resume/progress_files.hpp>

namespace tally::resume {

// Whether numbers and ranges are as Progress says they are.
bool is_consistent(const Progress& progress);

// Replaces what is at `path` in one step that lasts. Error(output).
void write_state_file(const std::filesystem::path& path, const Progress& progress);

// None where there is no such file, or it is not whole, or its content is not consistent.
// Error(environment) where the memory that is left cannot hold it.
std::optional<Progress> read_state_file(const std::filesystem::path& path);

}  // namespace tally::resume
