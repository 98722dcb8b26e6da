#include <tally/metrics/names.hpp>

#include <algorithm>
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

// As number_in(), of any spelling.
std::optional<double> number_written(std::string_view name, std::string_view pattern) {
  const auto parts = split(pattern);
  if (!parts || !name.starts_with(parts->before) || !name.ends_with(parts->behind) ||
      name.size() <= parts->before.size() + parts->behind.size()) {
    return std::nullopt;
  }
  name.remove_prefix(parts->before.size());
  name.remove_suffix(parts->behind.size());
  double number = 0;
  const auto [end, problem] =
      std::from_chars(name.data(), name.data() + name.size(), number, std::chars_format::fixed);
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

// One spelling each, so that a metric cannot come twice.
std::optional<double> number_in(std::string_view name, std::string_view pattern) {
  const auto number = number_written(name, pattern);
  return number && filled(pattern, *number) == name ? number : std::nullopt;
}

std::optional<std::string> well_spelled(std::string_view name, std::string_view pattern) {
  const auto number = number_written(name, pattern);
  if (!number) return std::nullopt;
  std::string right = filled(pattern, *number);
  // A very large or small number would be written with an exponent.
  if (!number_in(right, pattern)) return std::nullopt;
  return right;
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

std::string filled(std::string_view pattern, double number) {
  const auto parts = split(pattern);
  return parts ? format("{}{}{}", parts->before, number, parts->behind) : std::string(pattern);
}

}  // namespace tally::metrics
