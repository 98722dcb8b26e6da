// SPDX-License-Identifier: Apache-2.0
// How large the numbers in a network can become, which shows where neither NaN nor infinity can be.
#pragma once

#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Bounds hold for floating-point inputs without NaN, of at most this magnitude. Images are below
// 256 even where nothing has normalised them.
inline constexpr double kLargestInput = 1e4;

// Reads all numbers of each input once.
bool are_within_bounds(at::TensorList inputs);

// Of the values of a frozen, profiled graph (profiled_graph.hpp), before rewrite_for_onednn().
class ValueBounds {
 public:
  explicit ValueBounds(torch::jit::Graph& graph);

  // No number in `value` has a larger magnitude, and none is NaN. Infinity where that is not known:
  // after operators without a rule here, and where a number may come near the largest of its type.
  // Of a list of tensors: for all of them; of a constant: its largest magnitude.
  double of(const torch::jit::Value* value) const;
  bool knows(const torch::jit::Value* value) const { return known_.contains(value); }

 private:
  struct Known {
    double bound;
    double largest;  // number of the value's type, or one that is less
  };
  void note(const torch::jit::Value* value, double bound, double largest);
  double largest_of(const torch::jit::Value* result) const;

  std::unordered_map<const torch::jit::Value*, Known> known_;
};

}  // namespace tally::graph_optimizer
