// SPDX-License-Identifier: Apache-2.0
// A dataset of a test's file, with a checksum table if wanted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "raw_hdf5.hpp"

namespace tally::raw {

// rows_per_block = 0: no table. `properties` is taken over.
template <class T>
void checked_column(hid_t file, const std::string& path, hid_t type, const Dims& dims,
                    const std::vector<T>& values, std::int64_t rows_per_block,
                    hid_t properties = H5P_DEFAULT) {
  dataset(file, path.c_str(), type, dims, values.data(), properties);
  if (rows_per_block == 0) return;
  const auto bytes = std::as_bytes(std::span(values));
  const std::size_t rows = std::max<std::size_t>(1, dims[0]);
  const std::size_t block = bytes.size() / rows * to_size(rows_per_block);
  std::vector<std::uint32_t> crcs;
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    crcs.push_back(digest::crc32c(bytes.subspan(at, std::min(block, bytes.size() - at))));
  }
  const std::string table = "/checksums" + path;
  dataset(file, table.c_str(), H5T_STD_U32LE, {crcs.size()}, crcs.data());
  attribute(file, table.c_str(), "rows_per_block", H5T_STD_I64LE, {}, &rows_per_block);
}

}  // namespace tally::raw
