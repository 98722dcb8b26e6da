// Which HDF5 library is in the process.
#pragma once

#include <string>

namespace tally::hdf5 {

// "1.10.8", of the library that is loaded.
std::string library_version();

}  // namespace tally::hdf5
