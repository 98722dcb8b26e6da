// SPDX-License-Identifier: Apache-2.0
// Reads what a data set for detection knows of its images: the objects they show, and where the
// model's input lies in them.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// In pixels of the annotated image.
struct Box {
  double x = 0, y = 0;           // of the upper left corner; finite
  double width = 0, height = 0;  // finite, not negative
  friend bool operator==(const Box&, const Box&) = default;
};

// Of some images that follow one another.
struct Objects {
  // [images + 1]: those of image i are offsets[i] to before offsets[i + 1] of the columns below.
  std::vector<std::int64_t> offsets = {0};
  std::vector<Box> box;
  std::vector<std::int32_t> label;  // 0 to num_classes - 1
  std::vector<std::uint8_t> crowd;  // 1: a crowd, else 0
  std::vector<double> area;         // finite, not negative

  std::int64_t num_images() const { return std::ssize(offsets) - 1; }
};

// Where a point (x, y) of the model's input lies in the annotated image: (x * scale_x + offset_x,
// y * scale_y + offset_y).
struct Placement {
  double scale_x = 1, scale_y = 1;  // finite, positive
  double offset_x = 0, offset_y = 0;
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Images {
  std::vector<std::int64_t> id;  // ascending, each once
  std::vector<Placement> placement;
};

// Of images [first, first + count) of a data set of the task `detection`. Not collective. Throws
// Error(dataset) naming the object, its index and value where what is read is not what
// data_tools/SCHEMA.md says, or a checksum differs.
Objects read_objects(DataSet& data_set, std::int64_t first, std::int64_t count);
Images read_images(DataSet& data_set, std::int64_t first, std::int64_t count);
// The number of each class, all different.
std::vector<std::int64_t> read_class_ids(DataSet& data_set);

}  // namespace tally::data
