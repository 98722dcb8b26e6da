// Batch normalisations, by their constant weights and statistics, as what oneDNN computes in one
// pass with what stands beside them. Both functions are for a profiled graph (profiled_graph.hpp).
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

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

}  // namespace tally::model
