// What all who rewrite a TorchScript graph need.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Input `name` of a node as a constant; None where it is none, or None.
at::IValue constant(const torch::jit::Node* node, const char* name);

// No numbers, as LibTorch's "Scalar?[]".
c10::impl::GenericList no_scalars();

// Puts `made` where the graph stands and its result in the place of `last`'s, which goes.
void replace(torch::jit::Graph& graph, torch::jit::Node* made, torch::jit::Node* last);

}  // namespace tally::model
