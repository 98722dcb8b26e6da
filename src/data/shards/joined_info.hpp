// SPDX-License-Identifier: Apache-2.0
// What the files of one data set must have in common, and how their tables are joined.
#pragma once

#include <string>
#include <string_view>

#include <tally/data/data_set.hpp>

namespace tally::data {

// How a column or table of several files is made one.
enum class TableJoin {
  rows,     // one after the other
  offsets,  // the same, less each file's last, and counting the values of the files before
  shared,   // it is the same in all files
};

TableJoin join_of(std::string_view path);
// Of the table of values that belongs to offsets.
std::string values_of(std::string_view offsets);

// In what two files of one set differ besides their rows: "num_classes 9, expected 10"; empty where
// in nothing. `first` is what is expected.
std::string difference(const DataSetInfo& first, const DataSetInfo& other);

}  // namespace tally::data
