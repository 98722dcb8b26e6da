// SPDX-License-Identifier: Apache-2.0
// By which attribute a predictions file is known, what a ragged column of it consists of, and its
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/hdf5/reader.hpp>

namespace tally::predictions {

// The root attribute by which a predictions file is known, the version of its layout, and what a
// ragged column consists of.
inline constexpr char kFileMark[] = "tally_predictions";
inline constexpr std::int64_t kFileVersion = 1;

// The elements of row i are values[offsets[i]] to values[offsets[i + 1] - 1].
inline constexpr char kValues[] = "/values";
inline constexpr char kOffsets[] = "/offsets";  // int64 [N+1]

// Whether /<name> is a group with values and offsets.
bool is_ragged(const hdf5::Reader& reader, std::string_view name);

class RaggedColumn {
 public:
  // Error(dataset) where the two do not go together.
  RaggedColumn(const hdf5::Reader& reader, std::string_view name);

  hdf5::Element element() const { return values_.info().element; }
  std::int64_t num_rows() const { return offsets_.info().num_rows() - 1; }
  // "[1300, any]", of boxes "[1300, any, 4]".
  std::string shape_text() const;
  // Whether its rows are of such elements, one value each.
  bool is_of(hdf5::Element element) const;
  bool is_text() const { return is_of(hdf5::Element::u8); }
  // Of up to `count` rows: bytes as quoted text, of other elements how many there are.
  // Error(dataset) for offsets that lead nowhere.
  std::vector<std::string> first_cells(std::int64_t count) const;
  // How many elements rows [first, first + count) have, and these, row behind row. Error(dataset)
  // for elements that are no T.
  std::vector<std::int64_t> lengths(std::int64_t first, std::int64_t count) const;
  template <class T>
  std::vector<T> elements(std::int64_t first, std::int64_t count) const {
    require(hdf5::element_for<T>());
    const auto offsets = offsets_from(first, count);
    std::vector<T> all(to_size(offsets.back() - offsets.front()));
    values_.read_rows(offsets.front(), std::ssize(all), std::as_writable_bytes(std::span(all)));
    return all;
  }
  // Of one row: the begin of its text, or its first elements.
  std::string cell(std::int64_t row) const;
  // Of one row of int32 the first ones, up to `most`.
  std::vector<std::int64_t> first_integers(std::int64_t row, std::int64_t most) const;

 private:
  std::vector<std::int64_t> offsets_from(std::int64_t row, std::int64_t count) const;
  std::string text(std::int64_t first, std::int64_t num_bytes, std::int64_t most) const;
  std::string values(std::int64_t first, std::int64_t count) const;
  void require(hdf5::Element element) const;
  [[noreturn]] void throw_dataset_error(std::string_view found, std::string_view expected) const;

  std::string file_;
  std::string name_;
  hdf5::Dataset values_;
  hdf5::Dataset offsets_;
};

}  // namespace tally::predictions
