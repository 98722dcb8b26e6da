// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 by winograd.hpp in TorchScript graphs on the CPU: the operators, and the pass
// that puts them in the place of others.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

#include "kernels/winograd.hpp"

namespace tally::graph_optimizer {

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

// For a profiled graph (profiled_graph.hpp) that has not run yet, on one thread. Convolutions where
// it pays (3x3, stride 1, enough channels and tiles) become the operator kWinograd,
// which takes over a ReLU that follows, or the sum with a tensor that nothing else needs any more,
// over which it is written. How many there are.
int run_winograd_pass(torch::jit::Graph& graph);

}  // namespace tally::graph_optimizer
