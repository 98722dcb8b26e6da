// Batch normalisations, by their constant weights and statistics, as what oneDNN computes in one pass
// with what stands beside them. Both functions are for a profiled graph (profiled_graph.hpp).
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Those of a linear layer become its weights, where the layer's places are laid below each other for
// them and brought into their shape again: LibTorch folds only what follows on its layer directly
// (LeViT). They are rounded to the weights' type, as LibTorch rounds those that it folds. Leaves
// nodes that nothing reads.
void fold_into_linear_layers(torch::jit::Graph& graph);

// For an aten::batch_norm whose result only a function reads: x * 1 * scale + shift, with numbers of
// x's type for each channel. LibTorch's fuser joins a normalisation with no function but oneDNN's
// ReLU, which hides NaN; and oneDNN joins nothing to a product with numbers of channels, but all of
// this to one with a single number. Those after a convolution LibTorch has folded into its weights.
// Returns whether it was replaced, and destroyed.
bool replace_by_arithmetic(torch::jit::Graph& graph, torch::jit::Node* batch_norm);

}  // namespace tally::model
