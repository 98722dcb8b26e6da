// SPDX-License-Identifier: Apache-2.0
// A small valid data set of detection to read, and to break.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

struct Object {
  std::array<double, 4> box = {};
  std::int32_t label = 0;
  std::uint8_t crowd = 0;
  double area = 0;
};

struct Annotated {
  std::int64_t id = 0;
  std::array<double, 4> placement = {1, 1, 0, 0};
  std::vector<Object> objects = {};
};

struct ObjectFile {
  // The second image is empty.
  std::vector<Annotated> images = {
      {.id = 42,
       .placement = {2, 1.5, 0, -3},
       .objects = {{{1, 2, 30, 40}, 2, 0, 1024}, {{-1.5, 0.25, 0, 0}, 0, 1, 0}}},
      {.id = 139},
      {.id = 285, .objects = {{{5, 6, 7.5, 8}, 1, 0, 59.75}}}};
  std::vector<std::int64_t> class_ids = {1, 90, 17};
  std::int64_t rows_per_block = 0;  // 0: no checksum tables

  std::vector<Object> objects() const;        // of all images
  std::vector<std::int64_t> offsets() const;  // of each image in them
  // /inputs/index int64 [N] is the number of the sample. The file must not exist.
  void write(const std::filesystem::path& path) const;
};

}  // namespace tally::data
