// A column, in order, a piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <tally/data/data_set.hpp>
#include <tally/plan/batch_grid.hpp>

namespace tally::data {

using UsePiece = std::function<void(std::int64_t first, std::span<const std::byte> bytes)>;

// Calls `use(first, bytes)` for consecutive runs of the rows of `samples`, each a multiple of
// `rows` rows (but the last) and about 1 MiB. Checksums are checked, labels are not.
void for_each_piece(DataSet& data_set, const ColumnInfo& column, plan::SampleRange samples,
                    std::int64_t rows, const UsePiece& use);
// Of all rows.
void for_each_piece(DataSet& data_set, const ColumnInfo& column, std::int64_t rows,
                    const UsePiece& use);

}  // namespace tally::data
