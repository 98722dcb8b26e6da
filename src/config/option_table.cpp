#include "option_table.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <tally/base/format.hpp>

namespace tally::config {
namespace {

// Levenshtein's edit distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

// The word as an option would be spelled: "Batch_Size" is "batch-size".
std::string spelled(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string result(word.substr(0, 64));
  for (char& c : result) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

std::size_t distance(std::string_view word, std::string_view name) {
  const bool abbreviates = word.size() >= 3 && name.starts_with(word);
  return abbreviates ? 1 : edit_distance(word, name);
}

}  // namespace

const Option* find(const OptionTable& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Option::name);
  return found == table.end() ? nullptr : &*found;
}

std::string suggestion(const OptionTable& table, std::string_view word, std::string_view prefix) {
  const std::string wanted = spelled(word);
  const auto nearest = std::ranges::min_element(
      table, {}, [&](const Option& option) { return distance(wanted, option.name); });
  const std::size_t tolerated = 1 + wanted.size() / 4;
  if (nearest == table.end() || distance(wanted, nearest->name) > tolerated) {
    return "--help lists the options.";
  }
  return format("Did you mean '{}{}'?", prefix, nearest->name);
}

}  // namespace tally::config
