// SPDX-License-Identifier: Apache-2.0
// The datasets under /inputs, /targets and /groups.
#pragma once

#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

#include "schema/task_rules.hpp"

namespace tally::data {

// Fills inputs, targets, groups, lengths, tables, what is counted by them, and checksums.columns;
// the root is read already.
void read_columns(const hdf5::Reader& file, DataSetInfo& info);

// Adds a table, which must be there. Throws Error(dataset) for another type or length.
void read_table(const hdf5::Reader& file, const TableRule& rule, DataSetInfo& info);

// Of a dataset without checksums.
ColumnInfo column_of(const hdf5::DatasetInfo& stored);

// info's columns that have a row for each sample: inputs, targets, groups, lengths.
std::vector<const ColumnInfo*> sample_columns(const DataSetInfo& info);
// These and the tables.
std::vector<const ColumnInfo*> all_columns(const DataSetInfo& info);

}  // namespace tally::data
