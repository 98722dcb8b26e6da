// Which labels are allowed.
#pragma once

#include <cstdint>
#include <span>

#include <tally/data/data_set.hpp>

namespace tally::data {

bool is_label(const ColumnInfo& column);
// 0 <= label < num_classes, or ignore_index.
bool in_range(const DataSetInfo& info, std::int64_t label);
// "0..999 or ignore_index -1".
std::string expected_labels(const DataSetInfo& info);

// Refuses the first label of rows [first, …) that is out of range.
void check_labels(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                  std::span<const std::int64_t> labels);

}  // namespace tally::data
