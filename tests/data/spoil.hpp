// SPDX-License-Identifier: Apache-2.0
// Damage in a test's file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/data/data_set.hpp>

#include "raw_hdf5.hpp"

namespace tally::data {

// Turns the last bits of a dataset over.
inline void spoil(const std::filesystem::path& path, const ColumnInfo& column) {
  raw::edit(path, [&](hid_t file) {
    const hid_t id = raw::ok(H5Dopen2(file, column.path.c_str(), H5P_DEFAULT));
    const hid_t type = raw::ok(H5Dget_type(id));
    std::vector<std::uint8_t> bytes(to_size(column.num_rows * column.row_bytes()));
    raw::ok(H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
    bytes.back() = static_cast<std::uint8_t>(~bytes.back());
    raw::ok(H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
    H5Tclose(type);
    H5Dclose(id);
  });
}

// The rows of a column that has some in the place of what it holds.
template <class T>
void overwrite(const std::filesystem::path& path, const char* column, hid_t type,
               const raw::Dims& dims, const std::vector<T>& values) {
  raw::edit(path, [&](hid_t file) {
    raw::remove(file, column);
    raw::dataset(file, column, type, dims, values.data());
  });
}

}  // namespace tally::data
