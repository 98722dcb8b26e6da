// SPDX-License-Identifier: Apache-2.0
// Inputs that HDF5 reads: its metadata first in a process of its own, as in the program
// (docs/decisions/051).
#pragma once

#include <filesystem>
#include <string>

#include <tally/hdf5/file_probe.hpp>

#include "harness.hpp"

namespace tally::fuzz {

// The name of the file, which no other input had: a probe knows files by their names.
inline std::string write_hdf5_input(std::string_view bytes) {
  static const hdf5::FileProbe probe;
  static std::int64_t number = 0;
  if (number > 0) std::filesystem::remove("input-" + std::to_string(number) + ".h5");
  const auto name = "input-" + std::to_string(++number) + ".h5";
  write_input(name.c_str(), bytes);
  return name;
}

}  // namespace tally::fuzz
