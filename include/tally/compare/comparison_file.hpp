// SPDX-License-Identifier: Apache-2.0
// Writes a comparison as JSON to a file, where nothing but an earlier comparison may be.
#pragma once

#include <filesystem>
#include <string_view>

namespace tally::compare {

// Before the results are read: refuses a folder that is not there or not writable, and what lies at
// `path`, unless it is an earlier comparison and `overwrite` says that it may go. Throws
// Error(output).
void check_comparison_path(const std::filesystem::path& path, bool overwrite);

// Writes it whole or not at all; without `overwrite` nothing is replaced that came meanwhile.
// `json`: of to_json(). Throws Error(output).
void write_comparison(const std::filesystem::path& path, std::string_view json, bool overwrite);

}  // namespace tally::compare
