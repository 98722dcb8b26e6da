// Which convolutions of a graph the one for few channels takes the place of.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// For a convolution of own_convolutions.hpp in a profiled graph. Where it pays (windows, few
// channels, of which those of the output fill at most half of the last 16, or images of one
// channel), the node becomes narrow_convolution.hpp's operator, which takes over a ReLU and a pool
// of 2x2; whether it did.
bool use_narrow(torch::jit::Graph& graph, torch::jit::Node* convolution);

}  // namespace tally::model
