// SPDX-License-Identifier: Apache-2.0
// Maxima of windows over images whose channels come last, on CPUs and GPUs.
#pragma once

#include <cstdint>
#include <limits>

namespace tally::graph_optimizer {

// How a window moves along one dimension. At most half of it hangs over the beginning; over the end
// more of it does where sizes are rounded up (ceil_mode).
struct Window {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // at each end; never the maximum
};

struct PooledImage {
  std::int64_t height, width, channels;
  Window down, across;
  bool rounds_up = false;  // LibTorch's ceil_mode: a last window that reaches beyond the end counts

  // Windows along a dimension of `length`; all begin before its end.
  constexpr std::int64_t count(std::int64_t length, const Window& window) const {
    const auto last = length + 2 * window.padding - window.size;
    const auto steps = (last + (rounds_up ? window.stride - 1 : 0)) / window.stride;
    return steps * window.stride < length + window.padding ? steps + 1 : steps;
  }
  constexpr std::int64_t pooled_height() const { return count(height, down); }
  constexpr std::int64_t pooled_width() const { return count(width, across); }
};

// Row `row` of the pooled image: [pooled_width, channels]. `image` is [height, width, channels];
// its numbers are floating-point ones as bits, of which `infinity` is the positive one. NaN is the
// maximum wherever it stands, and 0 is larger than -0.
void pool_row(const std::int16_t* image, const PooledImage& shape, std::int16_t infinity,
              std::int64_t row, std::int16_t* pooled);
void pool_row(const std::int32_t* image, const PooledImage& shape, std::int32_t infinity,
              std::int64_t row, std::int32_t* pooled);

// Floating-point numbers as integers of the same order, on CPUs and GPUs. Numbers are ordered as
// their sign and magnitude are; keys as integers are. One comparison of integers then takes the
// place of three that know of NaN, in twice as many lanes for 16 bits.
template <class Bits>
inline constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();

template <class Bits>
[[gnu::always_inline]] constexpr Bits flip_negative(Bits bits) {
  constexpr int kSignBit = std::numeric_limits<Bits>::digits;
  return static_cast<Bits>(bits ^ ((bits >> kSignBit) & kMagnitude<Bits>));
}

// Of a number, given as bits; `infinity` is the positive one of its type. That of NaN is the
// largest. flip_negative() gives the number back.
template <class Bits>
[[gnu::always_inline]] constexpr Bits key_of(Bits bits, Bits infinity) {
  const bool is_nan = static_cast<Bits>(bits & kMagnitude<Bits>) > infinity;
  return is_nan ? kMagnitude<Bits> : flip_negative(bits);
}

// Maxima of windows over a batch of images on a GPU.

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

}  // namespace tally::graph_optimizer
