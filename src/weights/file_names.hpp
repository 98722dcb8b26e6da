// Names of the files that lie in one folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tally::weights {

// Of a file in a folder itself: no path, nothing that leads out of it. What lies there may be a
// link: caches are made of them.
bool is_plain_name(std::string_view name);

// As people sort: "rank_10" after "rank_9".
bool natural_less(std::string_view left, std::string_view right);

// Of all that lies in `folder`, hidden or not, in that order. Error(model) if it cannot be listed.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Those that end so and are not hidden, as a shell's *ending finds them.
std::vector<std::string> ending_in(const std::vector<std::string>& names, std::string_view ending);

}  // namespace tally::weights
