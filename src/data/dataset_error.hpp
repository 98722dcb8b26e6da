// SPDX-License-Identifier: Apache-2.0
// Throws Error(dataset) in the uniform wording.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tally::data {

// What to do about most of what is wrong in a data set.
inline constexpr std::string_view kWriters =
    "Write it with the scripts of data_tools (data_tools/SCHEMA.md).";

// Throws Error(dataset) "data set '<path>', <object> <problem>"; without ", <object>" where that is
// empty.
[[noreturn]] void throw_dataset_error(const std::filesystem::path& path, std::string_view object,
                                      std::string_view problem,
                                      std::string_view next_step = kWriters);

// Text from a file, for a terminal: made printable, cut where it is long.
std::string shown(std::string_view text);

}  // namespace tally::data
