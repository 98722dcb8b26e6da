// What oneDNN has only its reference code for, one number at a time.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// These are of a profiled graph (profiled_graph.hpp).

// Sums and products of tensors, if the numbers of one lie apart (a slice), if they lie in two
// orders (channels-last and contiguous), or if both have five dimensions and other sizes; and those
// with a function of a slice, which cannot begin a pass. False where sizes are not known.
bool is_slow_arithmetic(const torch::jit::Node* arithmetic);

// Products of matrices of which neither rows nor columns lie together.
bool is_slow_product(const torch::jit::Node* product);

// A softmax of rows that do not lie one behind the other, if arithmetic follows; it takes none
// alone. True also where that is not known.
bool is_slow_softmax(const torch::jit::Node* softmax);

}  // namespace tally::model
