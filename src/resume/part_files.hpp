// SPDX-License-Identifier: Apache-2.0
// Names the files of a part.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tally/resume/progress_files.hpp>

namespace tally::resume {

// Two state files are written in turns, so that one is whole while the other is written.
inline constexpr int kNumGenerations = 2;

std::string state_name(PartName part, int generation);  // "attempt-1.rank-0.a.state"
std::string records_name(PartName part);                // "attempt-1.rank-0.records"

// The part that a file of this name belongs to, be it a temporary one that a killed process left;
// none for other names.
std::optional<PartName> part_of_file(std::string_view name);

}  // namespace tally::resume
