// Weights and biases of normalisations, as LibTorch's oneDNN fuser expects them.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// For an aten::layer_norm or aten::batch_norm of a profiled graph (profiled_graph.hpp): ones and
// zeros where it has none, and float32 for a layer normalisation in 16 bits, in which LibTorch
// computes it, too.
void complete_weights(torch::jit::Graph& graph, torch::jit::Node* norm);

}  // namespace tally::model
