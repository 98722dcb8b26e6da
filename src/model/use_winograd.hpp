// Which convolutions of a graph Winograd's takes the place of.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// For a convolution of own_convolutions.hpp in a profiled graph. Where it pays (3x3, stride 1,
// enough channels and tiles), the node becomes winograd_convolution.hpp's operator, which takes
// over a sum and a ReLU; whether it did.
bool use_winograd(torch::jit::Graph& graph, torch::jit::Node* convolution);

}  // namespace tally::model
