// SPDX-License-Identifier: Apache-2.0
// Cells of a line of comma-separated values (RFC 4180), and the numbers that they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally::app {

// A longer cell is no number.
inline constexpr std::size_t kLongestCell = 64;

// The cells of a line of texts, without quotes, and without blanks around those that have none.
// None where a quote is not closed, or text stands behind one.
std::optional<std::vector<std::string>> csv_texts(std::string_view line);

// Takes the next cell of a line of numbers off its front, without quotes and blanks around it. None
// behind the last one: a line of n commas has n + 1 cells.
class NumberCells {
 public:
  explicit NumberCells(std::string_view line) : rest_(line) {}
  std::optional<std::string_view> next();

 private:
  std::string_view rest_;
  bool is_at_end_ = false;
};

// The float32 that is nearest to a decimal number; a tiny one is 0. "inf" and "nan" are numbers, in
// upper and lower case. None for other texts, for longer ones, and for what is too large.
std::optional<float> csv_number(std::string_view cell);
// None for what is no integer of 64 bits: "3.0" is none.
std::optional<std::int64_t> csv_integer(std::string_view cell);

}  // namespace tally::app
