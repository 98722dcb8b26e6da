// A whole column, in order, a piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Calls `use(first, bytes)` for consecutive runs of rows, each a multiple of `rows` rows (but the
// last) and about 1 MiB. Checksums are checked, labels are not.
void for_each_piece(DataSet& data_set, const ColumnInfo& column, std::int64_t rows,
                    const std::function<void(std::int64_t, std::span<const std::byte>)>& use);

}  // namespace tally::data
