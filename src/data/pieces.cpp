#include "pieces.hpp"

#include <algorithm>
#include <vector>

#include <tally/base/checked_cast.hpp>

namespace tally::data {

void for_each_piece(DataSet& data_set, const ColumnInfo& column, std::int64_t rows,
                    const std::function<void(std::int64_t, std::span<const std::byte>)>& use) {
  constexpr std::int64_t kPieceBytes = 1 << 20;
  const std::int64_t num_rows = data_set.info().num_samples;
  const std::int64_t unit = std::clamp<std::int64_t>(rows, 1, num_rows);
  const std::int64_t units = std::max<std::int64_t>(1, kPieceBytes / (unit * column.row_bytes()));
  std::vector<std::byte> buffer;
  for (std::int64_t first = 0; first < num_rows; first += unit * units) {
    const std::int64_t count = std::min(unit * units, num_rows - first);
    buffer.resize(to_size(count * column.row_bytes()));
    data_set.read_rows(column, first, count, buffer, RowCheck::checksums_only);
    use(first, buffer);
  }
}

}  // namespace tally::data
