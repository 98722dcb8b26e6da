// Convolutions of a TorchScript graph on the CPU become those that Tally computes faster.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

struct OwnConvolutions {
  int winograd = 0;  // use_winograd.hpp
  int narrow = 0;    // use_narrow.hpp
};

// For a profiled graph (profiled_graph.hpp) that has not run yet, on one thread. They take over
// what follows them: a ReLU, a pool of 2x2, or the sum with a tensor that nothing else needs any
// more, over which it is written. How many there are.
OwnConvolutions use_own_convolutions(torch::jit::Graph& graph);

// A two-dimensional convolution in float32 whose weights and settings are constants.
bool is_float_convolution(const torch::jit::Node* node);

// The ReLU that alone reads `value`, if that is so.
torch::jit::Node* relu_after(const torch::jit::Value* value);

}  // namespace tally::model
