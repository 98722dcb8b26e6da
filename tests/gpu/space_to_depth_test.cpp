// SPDX-License-Identifier: Apache-2.0
// The kernel that fills squares of pixels, against a plain loop.
#include "kernels/space_to_depth_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <tally/base/checked_cast.hpp>

#include "gpu.hpp"

namespace tally::graph_optimizer {
namespace {

// Channel `place` of square (y, x) of an image; all are numbered from 1 on.
std::uint16_t expected_word(const SquaresToFill& work, const std::uint16_t* image, std::int64_t y,
                            std::int64_t x, std::int64_t place) {
  const auto pixel = place / work.channels;
  const auto row = 2 * y - work.pad_y + pixel / 2;
  const auto column = 2 * x - work.pad_x + pixel % 2;
  const bool is_inside =
      pixel < 4 && row >= 0 && row < work.height && column >= 0 && column < work.width;
  if (!is_inside) return 0;
  return image[(row * work.width + column) * work.channels + place % work.channels];
}

std::vector<std::uint16_t> expected_squares(const SquaresToFill& work) {
  std::vector<std::uint16_t> squares;
  const auto image_size = std::int64_t{work.height} * work.width * work.channels;
  for (std::int64_t i = 0; i < work.num_images; ++i) {
    for (std::int64_t y = 0; y < work.rows; ++y) {
      for (std::int64_t x = 0; x < work.columns; ++x) {
        for (std::int64_t place = 0; place < work.square_channels; ++place) {
          squares.push_back(expected_word(work, work.images + i * image_size, y, x, place));
        }
      }
    }
  }
  return squares;
}

class PixelSquaresOnGpu : public OnGpu {
 protected:
  void expect_filled(SquaresToFill work) {
    std::vector<std::uint16_t> images(
        to_size(work.num_images * work.height * work.width * work.channels));
    std::iota(images.begin(), images.end(), std::uint16_t{1});
    work.images = images.data();
    const auto expected = expected_squares(work);
    const device::Stream stream(gpu_);
    const auto given = on_device(images, stream);
    const device::DeviceBuffer squares(std::ssize(expected) * 2, gpu_);
    const device::HostBuffer found(squares.num_bytes(), gpu_);
    work.images = given.as<const std::uint16_t>();
    work.squares = squares.as<std::uint16_t>();
    launch_pixel_squares(work, stream.handle());
    stream.copy_to_host(found.data(), squares.bytes());
    stream.synchronize();
    EXPECT_TRUE(
        std::ranges::equal(expected, std::span(found.as<const std::uint16_t>(), expected.size())));
  }
};

TEST_F(PixelSquaresOnGpu, HoldFourPixelsEach) {
  expect_filled({.num_images = 3,
                 .height = 31,
                 .width = 24,
                 .channels = 3,
                 .pad_y = 3,
                 .pad_x = 3,
                 .rows = 18,
                 .columns = 15,
                 .square_channels = 16});
}

TEST_F(PixelSquaresOnGpu, HoldFourPixelsEachAtEdges) {
  for (const std::int32_t channels : {1, 2, 3, 4}) {
    expect_filled({.num_images = 2,
                   .height = 3,
                   .width = 2,
                   .channels = channels,
                   .pad_y = 1,
                   .pad_x = 0,
                   .rows = 3,
                   .columns = 1,
                   .square_channels = (4 * channels + 7) / 8 * 8});
  }
}

}  // namespace
}  // namespace tally::graph_optimizer
