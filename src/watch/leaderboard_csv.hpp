// The evaluated checkpoints as rows of comma-separated values, quoted as RFC 4180 has it. Lines end
// as those of every other text file here.
#pragma once

#include <string>
#include <vector>

#include <tally/watch/leaderboard.hpp>

namespace tally::watch {

// With its line break. Each metric has three columns: value and interval.
std::string header_of(const std::vector<std::string>& metrics);
std::string row_of(const Entry& entry, const std::vector<std::string>& metrics);

}  // namespace tally::watch
