// SPDX-License-Identifier: Apache-2.0
// Convolutions with windows of 3x3 by Winograd's minimal filtering F(2x2, 3x3): 16 multiplications
// give 4 numbers that take 36 otherwise. Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016.
#pragma once

#include <array>
#include <cstdint>

namespace tally::graph_optimizer {

// A tile is 2x2 pixels of the output.
inline constexpr std::int64_t kTilePixels = 4;
inline constexpr std::int64_t kTileProducts = 16;
// Channels of the output are computed in groups of so many, of which there is to be a whole number.
inline constexpr std::int64_t kChannelGroup = 32;
// Those of the input are to be a multiple of it.
inline constexpr std::int64_t kChannelMultiple = 16;

// The most floats that this processor takes at once for it: 16 with AVX-512, 8 with AVX2 and FMA,
// else 0, and it is not to be used; no more than isa_cap.hpp allows. 8 and 16 give the same bits.
int winograd_lanes();

struct WinogradShape {
  std::int64_t num_images, height, width, channels;  // of the input, channels last
  std::int64_t out_channels;
  std::int64_t padding_down, padding_across;

  std::int64_t out_height() const { return height + 2 * padding_down - 2; }
  std::int64_t out_width() const { return width + 2 * padding_across - 2; }
  // The last ones of a row or column may hang over.
  std::int64_t tiles_down() const { return (out_height() + 1) / 2; }
  std::int64_t tiles_across() const { return (out_width() + 1) / 2; }
  std::int64_t num_tiles() const { return num_images * tiles_down() * tiles_across(); }
};

struct WinogradFinish {
  const float* bias;  // [out_channels]
  bool adds;          // to what is there
  bool has_relu;      // which keeps NaN
};

// [out_channels, channels, 3, 3], with those strides.
struct WinogradWeights {
  const float* data;
  std::int64_t out_channels, channels;
  std::array<std::int64_t, 4> strides;
};

// Into [out_channels / 32, 16, channels, 32], computed in double precision.
void transform_weights(const WinogradWeights& weights, float* transformed);

// On the calling thread; `lanes` are 8 or 16, and at most winograd_lanes(). `weight` is what
// transform_weights() gave; `out` is [num_images, out_height, out_width, out_channels]. Bits of an
// image do not depend on the others. Takes 6 KB of memory for each channel of the input, and 280
// KB.
void convolve_by_winograd(int lanes, const float* images, const float* weight,
                          const WinogradShape& shape, const WinogradFinish& finish, float* out);

}  // namespace tally::graph_optimizer
