// SPDX-License-Identifier: Apache-2.0
// A small valid data set to read, and to break.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

enum class SampleStorage { contiguous, chunked, deflated };

struct SampleFile {
  std::int64_t num_samples = 10;
  std::int64_t height = 4, width = 3;
  std::int64_t num_classes = 5;
  std::int64_t rows_per_block = 0;  // 0: no checksum tables
  SampleStorage storage = SampleStorage::contiguous;
  std::vector<std::string> names = {};  // /samples/name; empty: it is not there

  std::int64_t row_bytes() const { return height * width * 3; }
  std::vector<std::uint8_t> images() const;   // [N, H, W, 3], from a fixed sequence
  std::vector<std::int64_t> labels() const;   // [N], i mod num_classes
  std::vector<std::int32_t> cameras() const;  // [N], /groups/camera
  // /inputs/image, /targets/label, /groups/camera, class_names. The file must not exist.
  void write(const std::filesystem::path& path) const;
};

// The rows [first, first + count) of a column.
std::vector<std::byte> rows_of(DataSet& data_set, const ColumnInfo& column, std::int64_t first,
                               std::int64_t count);

}  // namespace tally::data
