// SPDX-License-Identifier: Apache-2.0
#include "kernels/space_to_depth.hpp"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <tally/libtorch/torch_device_and_stream.hpp>

#include "kernels/space_to_depth_kernel.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr std::int64_t kStep = 2;

std::int64_t rounded_up(std::int64_t count) { return (count + kStep - 1) / kStep; }

// Squares along a dimension: as many as there are windows, and those that the last one covers.
std::int64_t num_squares(std::int64_t length, std::int64_t window, std::int64_t padding) {
  const auto windows = (length + 2 * padding - window) / kStep + 1;
  return windows + rounded_up(window) - 1;
}

// [n, channels, 2 rows, 2 columns] -> [n, square_channels, rows, columns].
at::Tensor joined(const at::Tensor& pixels) {
  const auto channels = pixels.size(1), rows = pixels.size(2) / kStep,
             columns = pixels.size(3) / kStep;
  const auto squares = pixels.reshape({pixels.size(0), channels, rows, kStep, columns, kStep})
                           .permute({0, 3, 5, 1, 2, 4})
                           .reshape({pixels.size(0), 4 * channels, rows, columns});
  const auto more = square_channels(channels) - 4 * channels;
  return at::constant_pad_nd(squares, {0, 0, 0, 0, 0, more})
      .contiguous(at::MemoryFormat::ChannelsLast);
}

// What launch_pixel_squares() fills.
at::Tensor on_gpu(const at::Tensor& images, at::IntArrayRef padding, std::int64_t rows,
                  std::int64_t columns) {
  auto squares = at::empty({images.size(0), square_channels(images.size(1)), rows, columns},
                           images.options(), at::MemoryFormat::ChannelsLast);
  const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
  launch_pixel_squares({.images = static_cast<const std::uint16_t*>(images.const_data_ptr()),
                        .num_images = images.size(0),
                        .height = narrow(images.size(2)),
                        .width = narrow(images.size(3)),
                        .channels = narrow(images.size(1)),
                        .pad_y = narrow(padding[0]),
                        .pad_x = narrow(padding[1]),
                        .rows = narrow(rows),
                        .columns = narrow(columns),
                        .square_channels = narrow(squares.size(1)),
                        .squares = static_cast<std::uint16_t*>(squares.mutable_data_ptr())},
                       libtorch::current_stream(images.device()));
  return squares;
}

}  // namespace

at::Tensor weight_of_squares(const at::Tensor& weight) {
  const auto even = [](std::int64_t size) { return kStep * rounded_up(size) - size; };
  return joined(at::constant_pad_nd(weight, {0, even(weight.size(3)), 0, even(weight.size(2))}));
}

bool can_be_squares(const at::Tensor& images) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;  // 32 bits number what an image holds
  return images.dim() == 4 && images.element_size() == 2 && images.numel() > 0 &&
         images.size(1) <= kMostChannelsOfSquares &&
         images.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         images.numel() / images.size(0) < kMost;
}

at::Tensor squares_of(const at::Tensor& images, at::IntArrayRef window, at::IntArrayRef padding) {
  const auto rows = num_squares(images.size(2), window[0], padding[0]);
  const auto columns = num_squares(images.size(3), window[1], padding[1]);
  if (images.is_cuda()) return on_gpu(images, padding, rows, columns);
  return joined(
      at::constant_pad_nd(images, {padding[1], kStep * columns - images.size(3) - padding[1],
                                   padding[0], kStep * rows - images.size(2) - padding[0]}));
}

}  // namespace tally::graph_optimizer
