// An entry of the leaderboard as a line of JSON.
#pragma once

#include <string>
#include <string_view>

#include <tally/watch/leaderboard.hpp>

namespace tally::watch {

// Without the line break.
std::string line_of(const Entry& entry);

// Throws std::exception for what is no entry. Keys that are not known are not looked at.
Entry entry_of(std::string_view line);

}  // namespace tally::watch
