// SPDX-License-Identifier: Apache-2.0
#include "ragged_column.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "text_cells.hpp"

namespace tally::predictions {
namespace {

constexpr std::int64_t kShownBytes = 40;
constexpr std::int64_t kBytesOfOne = 4096;  // where one row is looked at

std::string path_of(std::string_view name, std::string_view part) {
  return format("/{}{}", name, part);
}

// Returns the text without a character whose last bytes were cut off. In UTF-8 a byte from 0xC0 on
// begins a character of 2 to 4 bytes, and those from 0x80 to 0xBF continue it, so three bytes at
// the end are enough to see.
std::string_view whole_characters(std::string_view text) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t cut = 1; cut < std::min(kLongest, text.size() + 1); ++cut) {
    const auto byte = static_cast<unsigned char>(text[text.size() - cut]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    if (length > cut) text.remove_suffix(cut);
    break;
  }
  return text;
}

}  // namespace

bool is_ragged(const hdf5::Reader& reader, std::string_view name) {
  const auto is_dataset = [&](std::string_view part) {
    const std::string path = path_of(name, part);
    return reader.exists(path) && reader.kind_of(path) == hdf5::ObjectKind::dataset;
  };
  return reader.kind_of(path_of(name, "")) == hdf5::ObjectKind::group && is_dataset(kValues) &&
         is_dataset(kOffsets);
}

RaggedColumn::RaggedColumn(const hdf5::Reader& reader, std::string_view name)
    : file_(reader.path().string()),
      name_(name),
      values_(reader.dataset(path_of(name, kValues))),
      offsets_(reader.dataset(path_of(name, kOffsets))) {
  offsets_.require_element(hdf5::Element::i64);
  const Shape& shape = offsets_.info().shape;
  // Without rows there is still one offset.
  if (shape.size() != 1 || shape[0] == 0) throw_dataset_error(to_string(shape), "[rows + 1]");
}

std::string RaggedColumn::shape_text() const {
  std::string text = format("[{}, any", num_rows());
  for (const std::int64_t size : values_.info().row_shape()) text += format(", {}", size);
  return text + "]";
}

std::vector<std::int64_t> RaggedColumn::offsets_from(std::int64_t row, std::int64_t count) const {
  std::vector<std::int64_t> offsets(to_size(count + 1));
  offsets_.read_rows(row, count + 1, std::as_writable_bytes(std::span(offsets)));
  // Offsets are checked as they are read, because everything that follows reads values by them.
  const std::int64_t most = values_.info().num_rows();
  std::int64_t least = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < least || offsets[i] > most) {
      throw_dataset_error(format("{} at {}", offsets[i], row + static_cast<std::int64_t>(i)),
                          format("{} to {}", least, most));
    }
    least = offsets[i];
  }
  return offsets;
}

std::vector<std::string> RaggedColumn::first_cells(std::int64_t count) const {
  const auto offsets = offsets_from(0, std::min(count, num_rows()));
  std::vector<std::string> cells;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t length = offsets[i + 1] - offsets[i];
    // In a table of many rows a text must stay short, and of other elements their number says more
    // than the first of them.
    const auto quoted = [&] {
      return format("\"{}\"{}", text(offsets[i], length, kShownBytes),
                    length > kShownBytes ? "…" : "");
    };
    cells.push_back(is_text() ? quoted() : format("{}", length));
  }
  return cells;
}

std::vector<std::int64_t> RaggedColumn::lengths(std::int64_t first, std::int64_t count) const {
  const auto offsets = offsets_from(first, count);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    lengths.push_back(offsets[i + 1] - offsets[i]);
  }
  return lengths;
}

std::string RaggedColumn::cell(std::int64_t row) const {
  const auto offsets = offsets_from(row, 1);
  const std::int64_t length = offsets[1] - offsets[0];
  if (!is_text()) return values(offsets[0], length);
  return text(offsets[0], length, kBytesOfOne) + (length > kBytesOfOne ? "…" : "");
}

std::vector<std::int64_t> RaggedColumn::first_integers(std::int64_t row, std::int64_t most) const {
  require(hdf5::Element::i32);
  const auto offsets = offsets_from(row, 1);
  std::vector<std::int32_t> read(to_size(std::min(most, offsets[1] - offsets[0])));
  values_.read_rows(offsets[0], std::ssize(read), std::as_writable_bytes(std::span(read)));
  return {read.begin(), read.end()};
}

// Shows the first of `count` values, each of which may be a row of numbers, such as a box.
std::string RaggedColumn::values(std::int64_t first, std::int64_t count) const {
  const bool are_rows = values_.info().shape.size() > 1;
  const std::int64_t num_read = std::min(count, kShownValues);
  std::vector<std::byte> bytes(to_size(num_read * values_.info().row_bytes()));
  values_.read_rows(first, num_read, bytes);
  if (!are_rows) {
    hdf5::DatasetInfo row = values_.info();
    // A ragged row of single values is shown as a row of that many; only those that are shown were
    // read.
    row.shape = {1, count};
    return row_text(row, bytes.data());
  }
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < num_read; ++i) {
    texts.push_back(row_text(values_.info(), bytes.data() + i * values_.info().row_bytes()));
  }
  return format("{}{}", fmt::join(texts, " "), count > num_read ? " …" : "");
}

bool RaggedColumn::is_of(hdf5::Element wanted) const {
  return element() == wanted && values_.info().shape.size() == 1;
}

void RaggedColumn::require(hdf5::Element wanted) const {
  if (is_of(wanted)) return;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', {} is {} {}, expected {} [values]", file_,
                     path_of(name_, kValues), hdf5::name(element()),
                     to_string(values_.info().shape), hdf5::name(wanted)),
              "The file is damaged: evaluate again.");
}

// Returns as much of the text as `most` bytes hold.
std::string RaggedColumn::text(std::int64_t first, std::int64_t num_bytes,
                               std::int64_t most) const {
  std::string text(to_size(std::min(num_bytes, most)), '\0');
  values_.read_rows(first, std::ssize(text), std::as_writable_bytes(std::span(text)));
  return printable(num_bytes <= most ? text : whole_characters(text));
}

void RaggedColumn::throw_dataset_error(std::string_view found, std::string_view expected) const {
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', {} is {}, expected {}", file_,
                     path_of(name_, kOffsets), found, expected),
              "The file is damaged: evaluate again.");
}

}  // namespace tally::predictions
