// SPDX-License-Identifier: Apache-2.0
// Writes datasets of a test's file, all with the same checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checked_column.hpp"

namespace tally::data {

class FileColumns {
 public:
  // rows_per_block = 0: no checksum tables.
  FileColumns(hid_t file, std::int64_t rows_per_block)
      : file_(file), rows_per_block_(rows_per_block) {}

  // [n, row...], of as many rows as there are values.
  template <class T>
  void put(const std::string& path, hid_t type, const std::vector<T>& values,
           const raw::Dims& row = {}) const {
    hsize_t row_values = 1;
    raw::Dims dims{0};
    for (const hsize_t extent : row) {
      row_values *= extent;
      dims.push_back(extent);
    }
    dims[0] = values.size() * (sizeof(T) / H5Tget_size(type)) / row_values;
    raw::checked_column(file_, path, type, dims, values, rows_per_block_);
  }

  void put_texts(const std::string& path, const std::vector<std::string>& texts) const {
    std::vector<std::int64_t> offsets{0};
    std::vector<char> values;
    for (const std::string& text : texts) {
      values.insert(values.end(), text.begin(), text.end());
      offsets.push_back(std::ssize(values));
    }
    put(path + "/offsets", H5T_STD_I64LE, offsets);
    put(path + "/values", H5T_STD_U8LE, values);
  }

  // One member of each of `rows`.
  template <class Row, class T>
  void put_each(const std::string& path, hid_t type, const std::vector<Row>& rows, T Row::*member,
                const raw::Dims& row = {}) const {
    std::vector<T> values;
    for (const Row& each : rows) values.push_back(each.*member);
    put(path, type, values, row);
  }

 private:
  hid_t file_;
  std::int64_t rows_per_block_;
};

}  // namespace tally::data
