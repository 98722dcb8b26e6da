#include "reading/column_pieces.hpp"

#include <algorithm>
#include <vector>

#include <tally/base/checked_cast.hpp>

namespace tally::data {

void for_each_piece(DataSet& data_set, const ColumnInfo& column, plan::SampleRange samples,
                    std::int64_t rows, const UsePiece& use) {
  constexpr std::int64_t kPieceBytes = 1 << 20;
  const std::int64_t unit =
      std::clamp<std::int64_t>(rows, 1, std::max<std::int64_t>(column.num_rows, 1));
  const std::int64_t units = std::max<std::int64_t>(1, kPieceBytes / (unit * column.row_bytes()));
  std::vector<std::byte> buffer;
  for (std::int64_t done = 0; done < samples.count; done += unit * units) {
    const std::int64_t count = std::min(unit * units, samples.count - done);
    buffer.resize(to_size(count * column.row_bytes()));
    data_set.read_rows(column, samples.first + done, count, buffer, RowCheck::checksums_only);
    use(samples.first + done, buffer);
  }
}

void for_each_piece(DataSet& data_set, const ColumnInfo& column, std::int64_t rows,
                    const UsePiece& use) {
  for_each_piece(data_set, column, {0, column.num_rows}, rows, use);
}

}  // namespace tally::data
