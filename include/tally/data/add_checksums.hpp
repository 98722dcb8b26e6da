// SPDX-License-Identifier: Apache-2.0
// Copies a data set and adds checksums to the copy.
#pragma once

#include <filesystem>

namespace tally::data {

// Copies `source` to `target` (Error(output) if it exists), adding a checksum table to every column
// that has none, each read back and compared, and the digest of the structure. One that is there
// and wrong is refused, as wherever a data set is opened. Published whole or not at all.
void add_checksums(const std::filesystem::path& source, const std::filesystem::path& target);

}  // namespace tally::data
