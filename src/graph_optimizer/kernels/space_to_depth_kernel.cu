// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <tally/device/launch.cuh>

#include "kernels/space_to_depth_kernel.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr int kThreads = 256;
constexpr int kWords = 8;  // of 2 bytes, that are written at a time

struct alignas(2 * kWords) Words {
  std::uint16_t at[kWords];
};

// Channel `place` of the square whose first pixel is at (y, x); 0 outside of the image.
template <int kChannels>
__device__ std::uint16_t word_at(const SquaresToFill& work, const std::uint16_t* image,
                                 std::int32_t y, std::int32_t x, std::int32_t place) {
  const std::int32_t pixel = place / kChannels;
  if (pixel >= 4) return 0;
  y += pixel / 2;
  x += pixel % 2;
  if (y < 0 || y >= work.height || x < 0 || x >= work.width) return 0;
  return image[(std::int64_t{y} * work.width + x) * kChannels + place % kChannels];
}

// A thread to eight channels of a square.
template <int kChannels>
__global__ void pixel_squares(const SquaresToFill work) {
  const std::int32_t parts = work.square_channels / kWords;
  const std::int64_t per_image = std::int64_t{work.rows} * work.columns * parts;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= work.num_images * per_image) return;
  const auto in_image = static_cast<std::int32_t>(i % per_image);
  const std::int32_t square = in_image / parts;
  const std::int32_t y = 2 * (square / work.columns) - work.pad_y;
  const std::int32_t x = 2 * (square % work.columns) - work.pad_x;
  const std::uint16_t* const image =
      work.images + i / per_image * work.height * work.width * kChannels;
  Words words;
  for (std::int32_t k = 0; k < kWords; ++k) {
    words.at[k] = word_at<kChannels>(work, image, y, x, in_image % parts * kWords + k);
  }
  reinterpret_cast<Words*>(work.squares)[i] = words;
}

template <int kChannels>
void launch(const SquaresToFill& work, void* stream) {
  const std::int64_t count =
      work.num_images * work.rows * work.columns * (work.square_channels / kWords);
  device::launch("pixel_squares", pixel_squares<kChannels>, (count + kThreads - 1) / kThreads,
                 kThreads, stream, work);
}

}  // namespace

void launch_pixel_squares(const SquaresToFill& work, void* stream) {
  if (work.num_images == 0) return;
  if (work.channels == 1) return launch<1>(work, stream);
  if (work.channels == 2) return launch<2>(work, stream);
  if (work.channels == 3) return launch<3>(work, stream);
  launch<4>(work, stream);
}

}  // namespace tally::graph_optimizer
