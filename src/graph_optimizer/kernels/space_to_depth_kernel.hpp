// SPDX-License-Identifier: Apache-2.0
// Squares of pixels on a GPU.
#pragma once

#include <cstdint>

namespace tally::graph_optimizer {

// images: [num_images, height, width, channels] words of 2 bytes, 1 to 4 channels; squares:
// [num_images, rows, columns, square_channels], at a multiple of 16 bytes. Square (y, x) holds the
// pixels from row 2 y - pad_y and column 2 x - pad_x on, zeros where there is no pixel or no
// channel.
struct SquaresToFill {
  const std::uint16_t* images = nullptr;
  std::int64_t num_images = 0;
  std::int32_t height = 0, width = 0, channels = 0;
  std::int32_t pad_y = 0, pad_x = 0;
  std::int32_t rows = 0, columns = 0, square_channels = 0;
  std::uint16_t* squares = nullptr;
};

// Enqueues on `stream`, a cudaStream_t. Twins: space_to_depth_kernel.cu and, in a build without
// CUDA, space_to_depth_kernel_no_cuda.cpp, which nobody calls there.
void launch_pixel_squares(const SquaresToFill& work, void* stream);

}  // namespace tally::graph_optimizer
