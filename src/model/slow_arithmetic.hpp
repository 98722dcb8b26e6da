// Arithmetic that oneDNN has only its reference code for, one number at a time.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Of a profiled graph (profiled_graph.hpp): most quotients of tensors, sums and products of tensors
// with five dimensions and other sizes, and those with a function of numbers that lie apart, which
// cannot begin a pass. False where sizes are not known.
bool is_slow_in_onednn(const torch::jit::Node* arithmetic);

}  // namespace tally::model
