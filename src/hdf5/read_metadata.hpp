// SPDX-License-Identifier: Apache-2.0
// All of a file that HDF5 itself interprets.
#pragma once

#include <filesystem>
#include <string_view>

namespace tally::hdf5 {

// Reads links, attributes, storage, chunk indices and texts of all objects, whatever they are for,
// as a Reader reads them, and drops what it reads; passes over what a Reader refuses. Elements that
// are no texts are not read. `what` begins the messages. Throws Error where HDF5 fails anywhere,
// std::bad_alloc where that was for want of memory.
void read_metadata(const std::filesystem::path& path, std::string_view what);

}  // namespace tally::hdf5
