// Where the rows of a ragged array begin.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Offsets [first, first + count] of `offsets`, which tell rows of `values`. Throws Error(dataset)
// naming the first that is less than the one before it or more than there are values; the first of
// all is 0, the last of all the number of values.
std::vector<std::int64_t> read_offsets(DataSet& data_set, const ColumnInfo& offsets,
                                       const ColumnInfo& values, std::int64_t first,
                                       std::int64_t count);

}  // namespace tally::data
