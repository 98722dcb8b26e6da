// What gives sums and products their tensors.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "onednn/onednn_rewrites.hpp"

namespace tally::model {

// oneDNN's pattern matcher looks up the first inputs of what gives a sum or a product its tensors,
// and ends with std::out_of_range where there are none: constants, and elements of lists. Such
// tensors pass through an operator with inputs, hidden_operators.hpp's kSame.
//
// In 16 bits only beside hidden products: oneDNN's kernel for attention takes one window after the
// other, which is slower than LibTorch's products where windows are small.
void give_sources(torch::jit::Graph& graph, Hidden hidden);

}  // namespace tally::model
