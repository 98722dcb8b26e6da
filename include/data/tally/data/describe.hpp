// What `tally inspect` says about a data set.
#pragma once

#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

enum class Verify {
  structure,   // reads the targets only
  everything,  // reads everything and compares every checksum
};

// Lines for people: structure, normalisation, class counts (bounded), labels out of range with
// their index, integrity, identity. Throws Error(dataset) where a block does not match its
// checksum.
std::vector<std::string> describe(DataSet& data_set, Verify verify);

}  // namespace tally::data
