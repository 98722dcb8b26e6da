// Rows of a data set's column as numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/data_set.hpp>

namespace tally::data {

// Rows [first, first + count) of `column`, of the type T; of that only the width is checked. Not
// collective. Throws what DataSet::read_rows throws; Error(internal) for a T of another width.
template <class T>
std::vector<T> read_column(DataSet& data_set, const ColumnInfo& column, std::int64_t first,
                           std::int64_t count) {
  if (column.row_bytes() != sizeof(T)) {
    throw Error(ErrorKind::internal, format("rows of {} are {} bytes, {} were expected",
                                            column.path, column.row_bytes(), sizeof(T)));
  }
  std::vector<T> rows(to_size(count));
  if (count == 0) return rows;  // a table without rows is not asked
  data_set.read_rows(column, first, count, std::as_writable_bytes(std::span(rows)));
  return rows;
}

}  // namespace tally::data
