// SPDX-License-Identifier: Apache-2.0
// The leaderboard as text: JSON of its record and of stop.json, comma-separated values of its
// table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tally/watch/early_stopping.hpp>
#include <tally/watch/leaderboard.hpp>

namespace tally::watch {

// One line without its break.
std::string line_of(const Entry& entry);

// Throws std::exception for what is no entry. Keys that are not known are not looked at.
Entry entry_of(std::string_view line);

// All of stop.json.
std::string stop_text(const Verdict& verdict, const StopSettings& settings, std::string_view time);

// The evaluated checkpoints as rows of comma-separated values, quoted as RFC 4180 has it. Lines end
// as those of every other text file here.

// With its line break. Each metric has three columns: value and interval.
std::string header_of(const std::vector<std::string>& metrics);
std::string row_of(const Entry& entry, const std::vector<std::string>& metrics);

}  // namespace tally::watch
