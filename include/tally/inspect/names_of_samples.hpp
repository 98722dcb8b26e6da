// SPDX-License-Identifier: Apache-2.0
// Looks up the names of some samples in the data set that a result is of.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace tally::app {

// By index; empty where there is no data set of this identity at `path`, or it has no names. They
// only make lists easier to read, so that a data set that cannot be opened is no error; damage to
// the names that are read is an Error(dataset).
std::map<std::int64_t, std::string> names_of_samples(const std::string& path,
                                                     const std::string& identity,
                                                     std::span<const std::int64_t> indices);

}  // namespace tally::app
