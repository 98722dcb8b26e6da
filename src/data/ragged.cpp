#include <tally/data/ragged.hpp>

#include <tally/base/format.hpp>

#include "refuse.hpp"

namespace tally::data {
namespace {

// Behind the last row all values are used.
void check_offsets(const DataSetInfo& info, const ColumnInfo& column, const ColumnInfo& values,
                   std::int64_t first, std::span<const std::int64_t> offsets) {
  const bool is_last = first + std::ssize(offsets) == column.num_rows;
  std::int64_t least = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t row = first + static_cast<std::int64_t>(i);
    const bool is_end = is_last && i + 1 == offsets.size();
    const bool is_right = offsets[i] >= least && offsets[i] <= values.num_rows &&
                          (row != 0 || offsets[i] == 0) &&
                          (!is_end || offsets[i] == values.num_rows);
    if (!is_right) {
      refuse(info.path, format("{}[{}]", column.path, row),
             format("= {}, expected offsets that ascend from 0 to the {} values of {} (read)",
                    offsets[i], values.num_rows, values.path));
    }
    least = offsets[i];
  }
}

}  // namespace

RaggedRows read_ragged(DataSet& data_set, std::string_view path, std::int64_t first,
                       std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  const ColumnInfo& offsets = info.table(format("{}/offsets", path));
  const ColumnInfo& values = info.table(format("{}/values", path));
  RaggedRows rows;
  rows.offsets.resize(to_size(count) + 1);
  data_set.read_rows(offsets, first, count + 1, std::as_writable_bytes(std::span(rows.offsets)));
  check_offsets(info, offsets, values, first, rows.offsets);
  const std::int64_t begin = rows.offsets.front(), end = rows.offsets.back();
  rows.values.resize(to_size((end - begin) * values.row_bytes()));
  if (end > begin) data_set.read_rows(values, begin, end - begin, rows.values);
  for (std::int64_t& offset : rows.offsets) offset = (offset - begin) * values.row_bytes();
  return rows;
}

}  // namespace tally::data
