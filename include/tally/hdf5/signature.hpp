// Telling HDF5 files from others.
#pragma once

#include <filesystem>

namespace tally::hdf5 {

// Whether it is a regular file that begins as HDF5 files do. Never throws; a pipe is not opened,
// which would block.
bool is_hdf5_file(const std::filesystem::path& path);

}  // namespace tally::hdf5
