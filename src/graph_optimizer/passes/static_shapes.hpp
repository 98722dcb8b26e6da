// SPDX-License-Identifier: Apache-2.0
// What in a graph is constant for one shape of inputs: paddings that are words, and numbers that
// follow from shapes, unless shapes depend on what is in the inputs.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Whether the result of an operator of a profiled graph (profiled_graph.hpp) has a shape, or is a
// number that others may make a shape of, that depends on what is in the network's inputs, not on
// their shapes alone; or whether it has branches. What was compiled for the shapes of one batch
// would be wrong for the next.
bool has_varying_shapes(torch::jit::Graph& graph);

// Puts constants in the place of sizes, and of numbers that are computed of them, of a profiled
// graph (profiled_graph.hpp) whose shapes do not vary. Lists, and numbers that
// were made tensors on the way, stay as they are. LibTorch's oneDNN fuser takes a root of a number,
// as scripted attention has it, for one of a tensor.
void fold_numbers(torch::jit::Graph& graph);

// Turns the padding of convolutions of images with padding='same' or 'valid' into numbers, as
// passes over graphs expect it, where it is the same on both sides and the weights are constant.
// All others become aten::_convolution_mode, which no pass takes for a convolution with numbers.
void spell_out_paddings(torch::jit::Graph& graph);

}  // namespace tally::graph_optimizer
