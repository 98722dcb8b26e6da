// SPDX-License-Identifier: Apache-2.0
#include <tally/data/column_values.hpp>

#include <algorithm>
#include <unordered_set>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "reading/column_pieces_and_offsets.hpp"
#include "schema/allowed_values.hpp"

namespace tally::data {

RaggedRows read_ragged(DataSet& data_set, std::string_view path, std::int64_t first,
                       std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  const ColumnInfo& values = info.table(format("{}/values", path));
  RaggedRows rows;
  rows.offsets =
      read_offsets(data_set, info.table(format("{}/offsets", path)), values, first, count);
  const std::int64_t begin = rows.offsets.front(), end = rows.offsets.back();
  rows.values.resize(to_size((end - begin) * values.row_bytes()));
  if (end > begin) data_set.read_rows(values, begin, end - begin, rows.values);
  // In the file offsets count the values of all rows; in the result they are bytes of these rows.
  for (std::int64_t& offset : rows.offsets) offset = (offset - begin) * values.row_bytes();
  return rows;
}

std::vector<std::int32_t> group_values(DataSet& data_set, const ColumnInfo& group,
                                       std::int64_t first, std::int64_t count) {
  if (group.dtype != DType::i32 || !group.row_shape.empty()) {
    throw Error(ErrorKind::internal, format("{} is no group", group.path));
  }
  std::unordered_set<std::int32_t> found;
  for_each_piece(data_set, group, {first, count}, 1,
                 [&](std::int64_t, std::span<const std::byte> bytes) {
                   for_each_value<std::int32_t>(bytes, [&](std::size_t, std::int32_t value) {
                     // One value more than the limit is kept: by it callers know that there are too
                     // many.
                     if (found.size() <= kMaxGroupValues) found.insert(value);
                   });
                 });
  std::vector<std::int32_t> values(found.begin(), found.end());
  std::ranges::sort(values);
  return values;
}

}  // namespace tally::data
