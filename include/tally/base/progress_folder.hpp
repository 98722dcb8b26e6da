// SPDX-License-Identifier: Apache-2.0
// Removes a folder of progress in which there is nothing to go on from.
#pragma once

#include <string>

namespace tally {

struct ProgressFolder {
  std::string path;
  std::string prefix, whole_suffix;  // of the names of its files, and of those that are whole
};

// Removes the files with the prefix, unless one of them has the suffix, too; then the folder, if it
// is empty. Returns whether nothing stays of it: also where it was not there. Async-signal-safe.
bool remove_without_whole_file(const ProgressFolder& folder) noexcept;

}  // namespace tally
