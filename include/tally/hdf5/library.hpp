// SPDX-License-Identifier: Apache-2.0
// Which HDF5 library is in the process, and which files are for it.
#pragma once

#include <filesystem>
#include <string>

namespace tally::hdf5 {

// "1.10.8", of the library that is loaded.
std::string library_version();

// Telling HDF5 files from others.

// Whether it is a regular file that begins as HDF5 files do. Never throws; a pipe is not opened,
// which would block.
bool is_hdf5_file(const std::filesystem::path& path);

}  // namespace tally::hdf5
