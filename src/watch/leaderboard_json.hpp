// The JSON of the leaderboard and of stop.json.
#pragma once

#include <string>
#include <string_view>

#include <tally/watch/early_stopping.hpp>
#include <tally/watch/leaderboard.hpp>

namespace tally::watch {

// One line without its break.
std::string line_of(const Entry& entry);

// Throws std::exception for what is no entry. Keys that are not known are not looked at.
Entry entry_of(std::string_view line);

// All of stop.json.
std::string stop_text(const Verdict& verdict, const StopSettings& settings, std::string_view time);

}  // namespace tally::watch
