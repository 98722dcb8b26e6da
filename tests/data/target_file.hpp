// SPDX-License-Identifier: Apache-2.0
// A small valid data set of any task: one input, and the targets that a test is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "raw_hdf5.hpp"

namespace tally::data {

struct TargetFile {
  std::string task;
  std::int64_t num_classes = 0;
  hid_t type = -1;  // of /targets/label
  raw::Dims dims;   // its shape
  std::vector<std::byte> rows;
  std::optional<std::int64_t> ignore_index = {};

  // /inputs/x float32 [N, 2], /targets/label. The file must not exist.
  void write(const std::filesystem::path& path) const;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// [N] classes 0 and 1.
TargetFile binary_file(const std::vector<std::int64_t>& labels);
// [N, num_labels] flags.
TargetFile multilabel_file(std::int64_t num_labels, const std::vector<std::uint8_t>& flags);
// [N, 1, 2] classes of pixels, 0 to 2 or 255.
TargetFile mask_file(const std::vector<std::int16_t>& labels);
// [N, num_outputs] values.
TargetFile regression_file(std::int64_t num_outputs, const std::vector<float>& values);

}  // namespace tally::data
