// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalisations as LibTorch's oneDNN fuser expects them, and as what oneDNN
// computes in one pass with what stands beside them. All functions are for a profiled graph
// (profiled_graph.hpp).
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Of a linear layer whose results are flattened to [rows, channels] for its normalisation, and
// brought into their shape again (LeViT), the normalisation becomes the weights: LibTorch folds
// only one that follows on its layer directly. They are rounded to the weights' type, as LibTorch
// rounds those that it folds. Leaves nodes that nothing reads.
void fold_into_linear_layers(torch::jit::Graph& graph);

// An aten::batch_norm of float32 becomes x * 1 * scale + shift, one of bfloat16
// (x * 1 - mean) * scale + bias, with numbers of x's type for each channel. For one that a function
// reads which oneDNN Graph takes: LibTorch's fuser joins a normalisation with no function but
// oneDNN's ReLU, which hides NaN; and oneDNN joins nothing to a product with numbers of channels,
// but all of this to one with a single number. Returns whether it was replaced, and destroyed.
bool replace_by_arithmetic(torch::jit::Graph& graph, torch::jit::Node* batch_norm);

// For an aten::layer_norm or aten::batch_norm: ones and
// zeros where it has none, and float32 for a layer normalisation in 16 bits, in which LibTorch
// computes it, too.
void complete_weights(torch::jit::Graph& graph, torch::jit::Node* norm);

}  // namespace tally::graph_optimizer
