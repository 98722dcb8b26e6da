// SPDX-License-Identifier: Apache-2.0
#include "text_cells.hpp"

#include <algorithm>
#include <cstring>

#include <tally/base/format.hpp>

namespace tally::predictions {
namespace {

using Lines = std::vector<std::string>;

template <class T>
T load(const std::byte* at) {
  // Rows lie behind one another in a buffer of bytes, without the alignment of their type.
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Returns the columns of a terminal that a text takes. fmt fills a text up to a width in columns;
// as no character takes more columns than bytes, the blanks that it adds give the width.
std::size_t width_of(std::string_view text) {
  const std::size_t blanks = format("{:<{}}", text, text.size()).size() - text.size();
  return text.size() - blanks;
}

std::size_t width_of(const Lines& texts) {
  std::size_t width = 0;
  for (const auto& text : texts) width = std::max(width, width_of(std::string_view(text)));
  return width;
}

}  // namespace

std::string value_text(hdf5::Element element, const std::byte* at) {
  using hdf5::Element;
  switch (element) {
    case Element::u8:
      return format("{}", load<std::uint8_t>(at));
    case Element::i8:
      return format("{}", load<std::int8_t>(at));
    case Element::u16:
      return format("{}", load<std::uint16_t>(at));
    case Element::i16:
      return format("{}", load<std::int16_t>(at));
    case Element::u32:
      return format("{}", load<std::uint32_t>(at));
    case Element::i32:
      return format("{}", load<std::int32_t>(at));
    case Element::u64:
      return format("{}", load<std::uint64_t>(at));
    case Element::i64:
      return format("{}", load<std::int64_t>(at));
    case Element::f32:
      return format("{:.6g}", load<float>(at));
    case Element::f64:
      return format("{:.6g}", load<double>(at));
    case Element::text:
      break;
  }
  return "text";
}

std::string row_text(const hdf5::DatasetInfo& info, const std::byte* row) {
  const std::int64_t value_bytes = hdf5::size_bytes(info.element);
  if (info.shape.size() == 1) return value_text(info.element, row);
  const std::int64_t num_values = num_elements(info.row_shape());
  Lines values;
  for (std::int64_t i = 0; i < std::min(num_values, kShownValues); ++i) {
    values.push_back(value_text(info.element, row + i * value_bytes));
  }
  if (num_values > kShownValues) values.emplace_back("…");
  return format("[{}]", fmt::join(values, ", "));
}

void add_table(Lines& lines, std::string_view title, const std::vector<Lines>& columns) {
  std::size_t height = 0;
  std::vector<std::size_t> widths;
  for (const auto& column : columns) {
    height = std::max(height, column.size());
    widths.push_back(width_of(column));
  }
  if (height > 0) lines.emplace_back(title);
  for (std::size_t row = 0; row < height; ++row) {
    std::string line = " ";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      line += format(" {:<{}} ", row < columns[c].size() ? columns[c][row] : "", widths[c]);
    }
    // The last column is filled up as well, and blanks at the end of a line are no use.
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
}

}  // namespace tally::predictions
