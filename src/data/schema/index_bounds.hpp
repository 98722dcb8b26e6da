// Which integers tell a place, and how far they go.
#pragma once

#include <tally/data/data_set.hpp>

namespace tally::data {

// Sets ColumnInfo::range and is_in_sequence of targets and tables; all columns are read already.
void set_ranges(DataSetInfo& info);

}  // namespace tally::data
