// Rows of a ragged column of predictions.h5, for people.
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
  // Whether its rows are texts, or elements of another kind.
  bool is_text() const;
  // Of up to `count` rows: bytes as quoted text, of other elements how many there are.
  // Error(dataset) for offsets that lead nowhere.
  std::vector<std::string> first_cells(std::int64_t count) const;
  // Rows [first, first + count), of elements that are T. Error(dataset) for others.
  template <class T>
  std::vector<std::vector<T>> rows(std::int64_t first, std::int64_t count) const {
    values_.require_element(hdf5::element_for<T>());
    const auto offsets = offsets_from(first, count);
    std::vector<T> all(to_size(offsets.back() - offsets.front()));
    values_.read_rows(offsets.front(), std::ssize(all), std::as_writable_bytes(std::span(all)));
    std::vector<std::vector<T>> rows;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      rows.emplace_back(all.begin() + offsets[i] - offsets[0],
                        all.begin() + offsets[i + 1] - offsets[0]);
    }
    return rows;
  }
  // Of one row: the begin of its text, or its first elements.
  std::string cell(std::int64_t row) const;
  // Of one row of int32 the first ones, up to `most`.
  std::vector<std::int64_t> first_integers(std::int64_t row, std::int64_t most) const;

 private:
  std::vector<std::int64_t> offsets_from(std::int64_t row, std::int64_t count) const;
  std::string text(std::int64_t first, std::int64_t num_bytes, std::int64_t most) const;
  std::string values(std::int64_t first, std::int64_t count) const;
  [[noreturn]] void refuse(std::string_view found, std::string_view expected) const;

  std::string file_;
  std::string name_;
  hdf5::Dataset values_;
  hdf5::Dataset offsets_;
};

}  // namespace tally::predictions
