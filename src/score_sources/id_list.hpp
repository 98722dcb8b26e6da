// Ids that a report or a note names: the first ones.
#pragma once

#include <string>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {

inline constexpr std::size_t kIdsListed = 10;

inline std::string listed(const std::vector<std::string>& ids, bool are_all) {
  std::vector<std::string> shown;
  for (const std::string& id : ids) shown.push_back(printable(id));
  return format("{}{}", fmt::join(shown, ", "), are_all ? "" : ", …");
}

}  // namespace tally::app
