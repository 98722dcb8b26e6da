// SPDX-License-Identifier: Apache-2.0
// What the tables of a data set hold, for people, and whether they agree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Calls use(first, count) for runs of `rows` rows that are read at a time.
template <class Use>
void for_each_run(std::int64_t rows, const Use& use) {
  constexpr std::int64_t kMost = 1 << 14;
  for (std::int64_t first = 0; first < rows; first += kMost) {
    use(first, std::min(kMost, rows - first));
  }
}

// How many there are of what a data set's tables list, such as paragraphs or objects; none without
// tables. Throws Error(dataset) where they break what SCHEMA.md says.
std::vector<std::string> table_report(DataSet& data_set);

// Reads what several rows or columns together must agree on: targets and the lengths of their
// sequences, offsets, units, and what the task adds to these. Throws Error(dataset) at the first
// that does not.
void check_tables(DataSet& data_set);

// Of these, that names of samples are text of no more bytes than they may have.
void check_sample_names(DataSet& data_set);
// That no class stands twice among the right ones of a sample.
void check_label_sets(DataSet& data_set);

}  // namespace tally::data
