// Linear layers whose result is taken apart at once.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Gated layers are often one linear layer that gives several results side by side, of which one
// goes through a function (GELU, sigmoid): oneDNN computes a function in the same pass as the layer
// before it, but not of a slice. In 16 bits such a layer becomes one for each part (MambaOut in
// bf16, 2 x 1: 69 images a second instead of 64; in float32 36 instead of 38, where layers stay as
// they are), in a frozen graph whose sizes are not known yet. Returns how many layers were split.
// Each number is the same sum as before, for which kernels may choose another order.
int split_linear_layers(torch::jit::Graph& graph);

}  // namespace tally::model
