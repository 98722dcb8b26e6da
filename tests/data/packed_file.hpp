// SPDX-License-Identifier: Apache-2.0
// A dataset in chunks, with any filters, made by HDF5 itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "raw_hdf5.hpp"

namespace tally::data {

struct Packing {
  std::vector<std::string> filters;  // "deflate 3", "shuffle", "fletcher32", in order
  raw::Dims chunk;

  hid_t properties() const {
    const hid_t list = raw::chunked(chunk);
    for (const std::string& filter : filters) {
      if (filter == "shuffle") {
        raw::ok(H5Pset_shuffle(list));
      } else if (filter == "fletcher32") {
        raw::ok(H5Pset_fletcher32(list));
      } else {
        raw::ok(H5Pset_deflate(list, static_cast<unsigned>(std::stoi(filter.substr(8)))));
      }
    }
    return list;
  }
};

// Little-endian unsigned integers of 1, 2, 4 or 8 bytes.
inline hid_t number_type(std::size_t bytes) {
  return bytes == 1   ? H5T_STD_U8LE
         : bytes == 2 ? H5T_STD_U16LE
         : bytes == 4 ? H5T_STD_U32LE
                      : H5T_STD_U64LE;
}

// Numbers that can be packed, but not into nothing.
inline std::vector<std::byte> some_numbers(std::size_t count, std::size_t bytes) {
  std::mt19937 random(7);
  std::vector<std::byte> numbers(count * bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool is_high = i % bytes >= (bytes + 1) / 2;
    numbers[i] = static_cast<std::byte>(is_high ? i / 64 : random() % 50);
  }
  return numbers;
}

// As HDF5 reads it.
inline std::vector<std::byte> read_by_hdf5(const std::filesystem::path& path, const char* name,
                                           hid_t type, std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  const hid_t file = raw::ok(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  const hid_t dataset = raw::ok(H5Dopen2(file, name, H5P_DEFAULT));
  raw::ok(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  raw::ok(H5Dclose(dataset));
  raw::ok(H5Fclose(file));
  return values;
}

}  // namespace tally::data
