// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/name_patterns.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <tally/base/format.hpp>

namespace tally::metrics {
namespace {

struct Split {
  std::string_view before, what, behind;
};

std::optional<Split> split(std::string_view pattern) {
  const auto open = pattern.find('<');
  const auto close = pattern.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return Split{pattern.substr(0, open), pattern.substr(open + 1, close - open - 1),
               pattern.substr(close + 1)};
}

// Does what number_in() does, but accepts any spelling of the number, such as 0.50.
std::optional<double> number_written(std::string_view name, std::string_view pattern) {
  const auto parts = split(pattern);
  if (!parts || !name.starts_with(parts->before) || !name.ends_with(parts->behind) ||
      name.size() <= parts->before.size() + parts->behind.size()) {
    return std::nullopt;
  }
  name.remove_prefix(parts->before.size());
  name.remove_suffix(parts->behind.size());
  double number = 0;
  // from_chars() depends on no locale; "fixed" refuses an exponent, which filled() never writes.
  const auto [end, problem] =
      std::from_chars(name.data(), name.data() + name.size(), number, std::chars_format::fixed);
  // The bound of <k> lets callers cast it to any integer type.
  const bool whole = parts->what != "k" || (number == std::floor(number) && number < 1e9);
  if (problem != std::errc() || end != name.data() + name.size() || !(number > 0) ||
      !std::isfinite(number) || !whole) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Each number has one spelling, so that a metric cannot come twice.
std::optional<double> number_in(std::string_view name, std::string_view pattern) {
  const auto number = number_written(name, pattern);
  return number && filled(pattern, *number) == name ? number : std::nullopt;
}

std::optional<std::string> well_spelled(std::string_view name, std::string_view pattern) {
  const auto number = number_written(name, pattern);
  if (!number) return std::nullopt;
  return filled(pattern, *number);
}

bool is_form(std::string_view pattern) { return split(pattern).has_value(); }

std::string_view number_mark(std::string_view pattern) {
  const auto parts = split(pattern);
  // The mark has the angle brackets as well.
  return parts ? pattern.substr(parts->before.size(), parts->what.size() + 2) : std::string_view();
}

bool matches(std::string_view name, std::string_view pattern) {
  return name == pattern || number_in(name, pattern).has_value();
}

std::vector<double> numbers_asked(const std::vector<std::string>& names, std::string_view pattern) {
  std::vector<double> numbers;
  for (const std::string& name : names) {
    if (const auto number = number_in(name, pattern)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::string filled(std::string_view pattern, std::string_view text) {
  const auto parts = split(pattern);
  return parts ? format("{}{}{}", parts->before, text, parts->behind) : std::string(pattern);
}

// Writes the fewest digits that give this number back, never with an exponent.
std::string filled(std::string_view pattern, double number) {
  std::array<char, 512> digits;  // 5e-324 has 326
  const auto written =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  return filled(pattern, std::string_view(digits.data(), written.ptr));
}

}  // namespace tally::metrics
