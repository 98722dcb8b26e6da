// Which subgroups a data set tells apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Metrics are kept for at most so many values of one group.
inline constexpr std::size_t kMaxGroupValues = 4096;

// The distinct values of rows [first, first + count) of `group` (one of DataSetInfo::groups),
// ascending. At most kMaxGroupValues + 1 of them, so that a column of all different numbers takes
// no memory: a longer list than kMaxGroupValues means that there are too many. Not collective.
// Throws Error(dataset) where a checksum differs; Error(internal) for another column or rows that
// are not there.
std::vector<std::int32_t> group_values(DataSet& data_set, const ColumnInfo& group,
                                       std::int64_t first, std::int64_t count);

}  // namespace tally::data
