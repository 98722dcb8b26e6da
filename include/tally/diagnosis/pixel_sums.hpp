// SPDX-License-Identifier: Apache-2.0
// Adds up some pixels of some images of each batch, which shows over a whole data set how images
// are scaled and in which order their channels lie. Sums are integers, the same for any number of
// ranks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::diagnosis {

// Of stored bytes, for each channel in the order in which they are stored.
struct ImageStatistics {
  std::vector<double> mean, deviation;  // over all pixels
  // Of the mean, as other images would move it: the deviation of the images' means, divided by the
  // root of their number.
  std::vector<double> standard_error;
  std::int64_t smallest = 0, largest = 0;
};

struct PixelSums {
  struct Channel {
    std::int64_t sum = 0, squares = 0;
    std::int64_t image_squares = 0;  // squares of the images' sums
    bool operator==(const Channel&) const = default;
  };

  // Looks at some of the first `num_samples` rows of a batch, contiguous uint8 [rows, height,
  // width, 1 or 3] on the host, which takes some microseconds. Passes other tensors over. All
  // batches have images of one size.
  void add(const TensorView& images, std::int64_t num_samples);

  // Adds what was seen of other images of one size with these.
  void merge(const PixelSums& other);

  // None where no images came.
  std::optional<ImageStatistics> statistics() const;
  bool operator==(const PixelSums&) const = default;

  std::int64_t num_channels = 0, num_images = 0;
  std::int64_t pixels_per_image = 0;  // that are looked at
  std::array<Channel, 3> channels;
  std::int64_t smallest = 255, largest = 0;
};

}  // namespace tally::diagnosis
