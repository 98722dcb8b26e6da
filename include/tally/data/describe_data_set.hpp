// SPDX-License-Identifier: Apache-2.0
// Describes and verifies a data set for `tally inspect`.
#pragma once

#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Lines for people: structure, normalisation, what the targets are (bounded), those not allowed
// with their index, checksums, identity. Reads the targets and tables; where a column has no
// checksums also groups and lengths, for the identity. Never the inputs.
std::vector<std::string> describe(DataSet& data_set);

// Reads everything; a line that says what that proves. Throws Error(dataset) at the first target
// that is not allowed and where a block does not match its checksum.
std::string verify(DataSet& data_set);

}  // namespace tally::data
