// What oneDNN has only its reference code for, one number at a time.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Of a profiled graph (profiled_graph.hpp): sums and products of tensors with five dimensions and
// other sizes, and those with a function of numbers that lie apart, which cannot begin a pass.
// False where sizes are not known.
bool is_slow_arithmetic(const torch::jit::Node* arithmetic);

// A softmax of numbers that do not lie one behind the other, if arithmetic follows; it takes none
// alone. True also where that is not known.
bool is_slow_softmax(const torch::jit::Node* softmax);

}  // namespace tally::model
