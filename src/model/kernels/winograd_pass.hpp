// Which convolutions of a TorchScript graph on the CPU Winograd's takes the place of.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// For a profiled graph (profiled_graph.hpp) that has not run yet, on one thread. Convolutions where
// it pays (3x3, stride 1, enough channels and tiles) become winograd_convolution.hpp's operator,
// which takes over a ReLU that follows, or the sum with a tensor that nothing else needs any more,
// over which it is written. How many there are.
int use_winograd(torch::jit::Graph& graph);

}  // namespace tally::model
