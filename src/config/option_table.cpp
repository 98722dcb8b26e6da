#include "option_table.hpp"

#include <algorithm>

#include <tally/base/nearest_word.hpp>

namespace tally::config {

const Option* find(const OptionTable& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Option::name);
  return found == table.end() ? nullptr : &*found;
}

std::string suggestion(const OptionTable& table, std::string_view word, std::string_view prefix) {
  std::vector<std::string> names;
  for (const Option& option : table) names.emplace_back(option.name);
  return did_you_mean(word, names, "--help lists the options.", prefix);
}

}  // namespace tally::config
