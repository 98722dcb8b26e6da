// SPDX-License-Identifier: Apache-2.0
#include "reading/column_pieces_and_offsets.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"

namespace tally::data {

void for_each_piece(const ColumnInfo& column, plan::SampleRange samples, std::int64_t rows,
                    const ReadRows& read, const UsePiece& use) {
  constexpr std::int64_t kPieceBytes = 1 << 20;
  // Pieces are of whole units, that is, of whole checksum blocks where `rows` is that of a table,
  // so that no block is read twice. A table may name blocks longer than the column.
  const std::int64_t unit =
      std::clamp<std::int64_t>(rows, 1, std::max<std::int64_t>(column.num_rows, 1));
  const std::int64_t units = std::max<std::int64_t>(1, kPieceBytes / (unit * column.row_bytes()));
  std::vector<std::byte> buffer;
  for (std::int64_t done = 0; done < samples.count; done += unit * units) {
    const std::int64_t count = std::min(unit * units, samples.count - done);
    buffer.resize(to_size(count * column.row_bytes()));
    read(samples.first + done, count, buffer);
    use(samples.first + done, buffer);
  }
}

void for_each_piece(DataSet& data_set, const ColumnInfo& column, plan::SampleRange samples,
                    std::int64_t rows, const UsePiece& use) {
  // Values are not checked: inspection counts those that are not allowed instead of ending at the
  // first.
  const auto read = [&](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    data_set.read_rows(column, first, count, out, RowCheck::checksums_only);
  };
  for_each_piece(column, samples, rows, read, use);
}

void for_each_piece(DataSet& data_set, const ColumnInfo& column, std::int64_t rows,
                    const UsePiece& use) {
  for_each_piece(data_set, column, {0, column.num_rows}, rows, use);
}

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
      throw_dataset_error(
          info.path, format("{}[{}]", column.path, row),
          format("= {}, expected offsets that ascend from 0 to the {} rows of {} (read)",
                 offsets[i], values.num_rows, values.path));
    }
    least = offsets[i];
  }
}

std::vector<std::int64_t> read_offsets(DataSet& data_set, const ColumnInfo& offsets,
                                       const ColumnInfo& values, std::int64_t first,
                                       std::int64_t count) {
  auto read = read_column<std::int64_t>(data_set, offsets, first, count + 1);
  check_offsets(data_set.info(), offsets, values, first, read);
  return read;
}

}  // namespace tally::data
