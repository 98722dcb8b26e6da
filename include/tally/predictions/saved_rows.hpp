// SPDX-License-Identifier: Apache-2.0
// Opens a predictions.h5 for reading: to look at its rows, or to score them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/hdf5/reader.hpp>

namespace tally::predictions {

// Throws Error(dataset) for a file that cannot be read, holds no predictions or links elsewhere.
hdf5::Reader open_predictions(const std::filesystem::path& path);

// Every function throws Error(dataset) for what is damaged or missing; a missing column is named
// with the --save value that gives it.
class SavedRows {
 public:
  explicit SavedRows(const std::filesystem::path& path);

  // The file as messages name it.
  std::string name() const;
  std::int64_t num_rows() const { return num_rows_; }
  // Name of the task, as the file has it; any text.
  const std::string& task() const { return task_; }
  std::optional<std::string> attribute(std::string_view name) const;

  // Names of all columns, ascending; ragged ones are groups.
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const;
  // One whose rows are of fixed size, as many as there are.
  hdf5::Dataset open(std::string_view column) const;
  // Rows [first, first + count) as int64, of a file's integers, or as double, of any numbers; not
  // of uint64.
  template <class T>
  std::vector<T> read(std::string_view column, std::int64_t first, std::int64_t count) const;
  // The same of a column that has one value in a row.
  template <class T>
  std::vector<T> read_each(std::string_view column, std::int64_t first, std::int64_t count) const;
  // Of a ragged column, whose elements are T, uint8 (text) or double: how many there are in each
  // row, and they, row behind row.
  std::vector<std::int64_t> lengths(std::string_view column, std::int64_t first,
                                    std::int64_t count) const;
  template <class T>
  std::vector<T> elements(std::string_view column, std::int64_t first, std::int64_t count) const;

  const hdf5::Reader& reader() const { return reader_; }

 private:
  hdf5::Reader reader_;
  std::string task_;
  std::vector<std::string> columns_;
  std::int64_t num_rows_ = 0;
};

}  // namespace tally::predictions
