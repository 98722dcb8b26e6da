// SPDX-License-Identifier: Apache-2.0
// Images as squares of 2 x 2 pixels: the channels of four pixels become those of one, so that a
// convolution of step 2 over three channels becomes one of step 1 over twelve. cuDNN has fast
// kernels for 16-bit types where channels are a multiple of eight; zeros fill up.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace tally::graph_optimizer {

// More channels are as fast as they are.
inline constexpr std::int64_t kMostChannelsOfSquares = 4;

// Channels of a square of pixels with so many channels.
constexpr std::int64_t square_channels(std::int64_t channels) { return (4 * channels + 7) / 8 * 8; }

// The weight [out channels, channels, height, width] of a convolution of step 2, for squares:
// [out channels, square_channels(), ceil(height / 2), ceil(width / 2)], channels last.
at::Tensor weight_of_squares(const at::Tensor& weight);

// The squares that such a convolution of a window of these sizes needs of images [images, channels,
// height, width], which zeros surround: [images, square_channels(), …], channels last. Of images in
// 16 bits whose channels come last.
at::Tensor squares_of(const at::Tensor& images, at::IntArrayRef window, at::IntArrayRef padding);

// Whether squares_of() takes them.
bool can_be_squares(const at::Tensor& images);

}  // namespace tally::graph_optimizer
