// SPDX-License-Identifier: Apache-2.0
// Columns of an open data set, for the bodies of this room: in order, a piece at a time, and as
// offsets of a ragged array, which are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tally/data/data_set.hpp>
#include <tally/plan/batch_grid.hpp>

namespace tally::data {

using ReadRows =
    std::function<void(std::int64_t first, std::int64_t count, std::span<std::byte> out)>;
using UsePiece = std::function<void(std::int64_t first, std::span<const std::byte> bytes)>;

// Calls `use(first, bytes)` for consecutive runs of the rows of `samples`, each a multiple of
// `rows` rows (but the last) and about 1 MiB, that `read` reads.
void for_each_piece(const ColumnInfo& column, plan::SampleRange samples, std::int64_t rows,
                    const ReadRows& read, const UsePiece& use);
// Checksums are checked, labels are not.
void for_each_piece(DataSet& data_set, const ColumnInfo& column, plan::SampleRange samples,
                    std::int64_t rows, const UsePiece& use);
// Of all rows.
void for_each_piece(DataSet& data_set, const ColumnInfo& column, std::int64_t rows,
                    const UsePiece& use);

// Where the rows of a ragged array begin. Offsets ascend from 0, and the last of all is the number
// of values. Of some of them, those from `first` on, what they show of that is checked, so that no
// row reaches outside the values. Throws Error(dataset).
void check_offsets(const DataSetInfo& info, const ColumnInfo& column, const ColumnInfo& values,
                   std::int64_t first, std::span<const std::int64_t> offsets);

// Offsets [first, first + count] of `offsets`, which tell rows of `values`. Throws Error(dataset)
// naming the first that check_offsets() refuses.
std::vector<std::int64_t> read_offsets(DataSet& data_set, const ColumnInfo& offsets,
                                       const ColumnInfo& values, std::int64_t first,
                                       std::int64_t count);

}  // namespace tally::data
