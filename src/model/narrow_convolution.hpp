// Operator of TorchScript graphs on the CPU: convolutions by narrow.hpp.
#pragma once

#include <ATen/core/Tensor.h>

#include "narrow.hpp"

namespace tally::model {

// (Tensor input, Tensor weight, Tensor bias, int[2] stride, int[2] padding, bool relu, bool pool)
// -> Tensor: float32, of which the result's channels come last. `pool`: and then the maxima of 2x2.
// ReLU keeps NaN, which is a maximum.
inline constexpr const char* kNarrow = "tally::narrow_convolution";

// Makes it known, until the process ends.
void register_narrow();

// The weight that it takes, of a convolution's [K, C, height, width].
at::Tensor narrow_weight(const at::Tensor& weight);

// Each of them one number, or one for each dimension.
struct NarrowSettings {
  at::IntArrayRef window, stride, padding;
  bool pool = false;
};

NarrowShape narrow_shape(at::IntArrayRef input_size, std::int64_t out_channels,
                         const NarrowSettings& settings);

}  // namespace tally::model
