// SPDX-License-Identifier: Apache-2.0
// What the tables of a data set hold, for people, and whether they agree.
#pragma once

#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// How many there are of what a data set without labels lists: paragraphs, objects. Throws
// Error(dataset) where they break what SCHEMA.md says.
std::vector<std::string> table_report(DataSet& data_set);
// The same of documents and choices, whose tokens are labels.
std::string unit_line(DataSet& data_set);

// Reads what several rows or columns together must agree on: offsets, units, numbers of images,
// choices. Throws Error(dataset) at the first that does not.
void check_tables(DataSet& data_set);

}  // namespace tally::data
