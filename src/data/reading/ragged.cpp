#include <tally/data/ragged.hpp>

#include <tally/base/format.hpp>

#include "schema/offsets.hpp"

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
  for (std::int64_t& offset : rows.offsets) offset = (offset - begin) * values.row_bytes();
  return rows;
}

}  // namespace tally::data
