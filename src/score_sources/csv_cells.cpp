// SPDX-License-Identifier: Apache-2.0
#include "csv_cells.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tally::app {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Takes a cell in quotes off the front, of which two stand for one. None where it is not closed.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string cell;
  rest.remove_prefix(1);
  while (true) {
    const std::size_t end = rest.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    cell += rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (!rest.starts_with('"')) return cell;
    cell += '"';
    rest.remove_prefix(1);
  }
}

// Other programs write a plus sign, which std::from_chars() does not read.
std::string_view without_plus(std::string_view cell) {
  return cell.size() > 1 && cell[0] == '+' && cell[1] != '-' ? cell.substr(1) : cell;
}

// A number that float32 cannot hold: 0 where it is too near to 0, none where it is too large.
std::optional<float> number_out_of_range(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Of a text as short as a cell only an exponent makes a number that no double can hold.
  const std::size_t exponent = text.find_first_of("eE");
  const bool is_tiny = failure == std::errc{}
                           ? std::abs(value) < 1
                           : text.substr(std::min(exponent, text.size())).find('-') == 1;
  if (!is_tiny) return std::nullopt;
  return text.starts_with('-') ? -0.0F : 0.0F;
}

}  // namespace

std::optional<std::vector<std::string>> csv_texts(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    std::string_view rest = without_blanks(line);
    if (rest.starts_with('"')) {
      auto cell = take_quoted(rest);
      rest = without_blanks(rest);
      if (!cell || !(rest.empty() || rest.starts_with(','))) return std::nullopt;
      cells.push_back(std::move(*cell));
    } else {
      const std::size_t end = std::min(rest.find(','), rest.size());
      cells.emplace_back(without_blanks(rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    if (rest.empty()) return cells;
    line = rest.substr(1);
  }
}

std::optional<std::string_view> NumberCells::next() {
  if (is_at_end_) return std::nullopt;
  const std::size_t end = std::min(rest_.find(','), rest_.size());
  std::string_view cell = without_blanks(rest_.substr(0, end));
  is_at_end_ = end == rest_.size();
  rest_.remove_prefix(is_at_end_ ? end : end + 1);
  // A number has no comma, so that what is in quotes ends with its cell.
  if (cell.size() > 1 && cell.front() == '"' && cell.back() == '"') {
    cell = without_blanks(cell.substr(1, cell.size() - 2));
  }
  return cell;
}

std::optional<float> csv_number(std::string_view cell) {
  if (cell.size() > kLongestCell) return std::nullopt;
  cell = without_plus(cell);
  float value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (end != cell.data() + cell.size()) return std::nullopt;
  if (failure == std::errc::result_out_of_range) return number_out_of_range(cell);
  return failure == std::errc{} ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> csv_integer(std::string_view cell) {
  cell = without_plus(cell);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (failure != std::errc{} || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

}  // namespace tally::app
