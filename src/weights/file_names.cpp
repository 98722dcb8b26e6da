#include "file_names.hpp"

#include <algorithm>
#include <cctype>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::weights {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Takes the digits from the front of `text`; without leading zeros, the longer number is larger.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit) - text.begin();
  auto digits = text.substr(0, static_cast<std::size_t>(end));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

bool natural_less(std::string_view left, std::string_view right) {
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const auto first = take_number(left);
      const auto second = take_number(right);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
      continue;
    }
    if (left.front() != right.front()) return left.front() < right.front();
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  return left.size() < right.size();
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorKind::model, format("folder '{}' cannot be listed: {}",
                                         printable(folder.string()), error.code().message()));
  }
  std::ranges::sort(names, natural_less);
  return names;
}

std::vector<std::string> ending_in(const std::vector<std::string>& names, std::string_view ending) {
  std::vector<std::string> found;
  for (const auto& name : names) {
    if (name.ends_with(ending) && !name.starts_with('.')) found.push_back(name);
  }
  return found;
}

}  // namespace tally::weights
