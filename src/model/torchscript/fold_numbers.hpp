// Numbers that follow from the shapes of tensors.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Puts constants in the place of sizes, and of numbers that are computed of them, of a profiled
// graph (profiled_graph.hpp) whose shapes do not vary (varying_shapes.hpp). Lists, and numbers that
// were made tensors on the way, stay as they are. LibTorch's oneDNN fuser takes a root of a number,
// as scripted attention has it, for one of a tensor.
void fold_numbers(torch::jit::Graph& graph);

}  // namespace tally::model
