// Operators of TorchScript graphs on the CPU: convolutions of 3x3 by winograd.hpp.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/winograd.hpp"

namespace tally::model {

// (Tensor input, Tensor weight, Tensor bias, int[2] padding, bool relu) -> Tensor: float32, of
// which the result's channels come last. The other one adds to its first argument, and returns it.
//
// Errors were measured to be smaller than oneDNN's (decision 21). NaN reaches the same places;
// infinities may become NaN. ReLU keeps NaN. The input has the channels of the weight.
inline constexpr const char* kWinograd = "tally::winograd_convolution";
inline constexpr const char* kWinogradSum = "tally::winograd_convolution_";

// Makes them known, until the process ends.
void register_winograd();

// The weight that they take, of a convolution's [K, C, 3, 3].
at::Tensor winograd_weight(const at::Tensor& weight);

// `padding`: one number, or one for each dimension.
WinogradShape winograd_shape(at::IntArrayRef input_size, std::int64_t out_channels,
                             at::IntArrayRef padding);

}  // namespace tally::model
