// Which convolutions of a graph the one for few channels takes the place of.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Whether it pays for a convolution of these weights, whose settings are constants: float32,
// windows, few channels, of which those of the output fill at most half of the last 16, or images
// of one channel.
bool suits_narrow(const torch::jit::Node* convolution, const at::Tensor& weight);

// For kFused of fuse_convolutions.hpp, in a graph that has not run yet and on one thread, with its
// weights as a constant and the size of what it will be given. Where it pays, the node becomes
// narrow_convolution.hpp's operator, which takes over a pool of 2x2 too; whether it did.
bool use_narrow(torch::jit::Graph& graph, torch::jit::Node* node,
                const std::vector<std::int64_t>& input_size);

}  // namespace tally::model
