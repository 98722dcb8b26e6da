// Batch normalisation as a product and a sum, which oneDNN computes in one pass with what follows.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// For an aten::batch_norm of a profiled graph (profiled_graph.hpp) whose weights and statistics are
// constants and whose result only a function reads: x * 1 * scale + shift, with numbers of x's type
// for each channel. LibTorch's fuser joins a normalisation with no function but oneDNN's ReLU, which
// hides NaN; and oneDNN joins nothing to a product with numbers of channels, but all of this to one
// with a single number. After a layer there is nothing to do: freezing has folded the normalisation
// into its weights. Returns whether it was replaced, and destroyed.
bool replace_by_arithmetic(torch::jit::Graph& graph, torch::jit::Node* batch_norm);

}  // namespace tally::model
