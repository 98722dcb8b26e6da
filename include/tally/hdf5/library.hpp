// SPDX-License-Identifier: Apache-2.0
// Says which HDF5 library is in the process, and which files are HDF5 files.
#pragma once

#include <filesystem>
#include <string>

namespace tally::hdf5 {

// "1.10.8", of the library that is loaded.
std::string library_version();

// Whether it is a regular file with HDF5's signature, which may stand behind a user block. A pipe
// is not opened, which would block.
bool is_hdf5_file(const std::filesystem::path& path);

}  // namespace tally::hdf5
