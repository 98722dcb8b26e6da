// Maxima of windows over a batch of images on a GPU.
#pragma once

#include <cstdint>

#include "kernels/max_pool.hpp"

namespace tally::model {

// images: [num_images, height, width, channels] floating-point numbers of `word_bytes` bytes, 2 or
// 4; pooled: [num_images, pooled_height, pooled_width, channels]. Both lie in the GPU's memory at
// multiples of 16 bytes, and so do the channels of each pixel. `infinity`: the positive one, as
// bits. The result is that of pool_row().
struct ImagesToPool {
  const void* images = nullptr;
  void* pooled = nullptr;
  std::int64_t num_images = 0;
  PooledImage shape;
  int word_bytes = 0;
  std::int32_t infinity = 0;
};

inline constexpr std::int64_t kPoolBytes = 16;  // that a thread takes at a time

// Enqueues on `stream`, a cudaStream_t. Twins: max_pool.cu and, in a build without CUDA,
// max_pool_no_cuda.cpp, which nobody calls there.
void launch_max_pool(const ImagesToPool& images, void* stream);

}  // namespace tally::model
