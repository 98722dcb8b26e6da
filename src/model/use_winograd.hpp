// Which convolutions of a graph Winograd's takes the place of.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Whether it may pay for a convolution of these weights, whose settings are constants: float32,
// 3x3, stride 1, enough channels.
bool suits_winograd(const torch::jit::Node* convolution, const at::Tensor& weight);

// For a node of the kinds of fuse_convolutions.hpp, in a graph that has not run yet and on one
// thread, with its weights as a constant and the size of what it will be given. Where it pays, the
// node becomes winograd_convolution.hpp's operator, which takes over a ReLU after a sum too;
// whether it did.
bool use_winograd(torch::jit::Graph& graph, torch::jit::Node* node,
                  const std::vector<std::int64_t>& input_size);

}  // namespace tally::model
