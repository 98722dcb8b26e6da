// SPDX-License-Identifier: Apache-2.0
// Parses numbers in text from outside: options, attributes, environment variables, files.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tally {

// The number that the whole text is, as std::from_chars() reads it: no blanks and no "+". None for
// anything else, and for what the type cannot hold.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace tally
