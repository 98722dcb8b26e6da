// SPDX-License-Identifier: Apache-2.0
// Reads rows of a data set's columns into memory: as numbers, as rows of any length, as the
// distinct values of a group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
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

// Some rows of any length that follow one another: of a group with `values` and `offsets`.
struct RaggedRows {
  std::vector<std::int64_t> offsets = {0};  // [rows + 1], in bytes of `values`
  std::vector<std::byte> values;

  std::int64_t num_rows() const { return std::ssize(offsets) - 1; }
  std::span<const std::byte> row(std::int64_t i) const {
    const std::int64_t begin = offsets.at(to_size(i)), end = offsets.at(to_size(i) + 1);
    return std::span(values).subspan(to_size(begin), to_size(end - begin));
  }
  std::string_view text(std::int64_t i) const {
    return {reinterpret_cast<const char*>(row(i).data()), row(i).size()};
  }
};

// Rows [first, first + count) of `path`, both of whose datasets are tables of the data set. Throws
// Error(dataset) where offsets do not ascend from 0 to the number of values, or a checksum differs.
RaggedRows read_ragged(DataSet& data_set, std::string_view path, std::int64_t first,
                       std::int64_t count);

// Metrics are kept for at most so many values of one group.
inline constexpr std::size_t kMaxGroupValues = 4096;

// The distinct values of rows [first, first + count) of `group` (one of DataSetInfo::groups),
// ascending. At most kMaxGroupValues + 1 of them, so that a column of all different numbers takes
// no memory: a longer list than kMaxGroupValues means that there are too many. Not collective.
// Throws Error(dataset) where a checksum differs; Error(internal) for another column or rows that
// are not there.
std::vector<std::int32_t> group_values(DataSet& data_set, const ColumnInfo& group,
                                       std::int64_t first, std::int64_t count);

}  // namespace tally::data
