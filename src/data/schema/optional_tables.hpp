// SPDX-License-Identifier: Apache-2.0
// What a data set may have beside the columns and tables that its task needs.
#pragma once

#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

namespace tally::data {

// Names of samples, and classes of which several are right. Of a task whose units are samples, once
// the other columns are read.
void read_optional_tables(const hdf5::Reader& file, DataSetInfo& info);

}  // namespace tally::data
