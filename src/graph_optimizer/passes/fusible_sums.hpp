// SPDX-License-Identifier: Apache-2.0
// Sums that a convolution may write over one of their sides.
#pragma once

#include <optional>

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

struct FusedSum {
  torch::jit::Node* sum;
  torch::jit::Value* other;  // the side that is written over
};

// The sum that alone reads what the convolution gives, if its other side has the same shape, is
// memory of its own, and is needed by nothing after it; the convolution may then be computed where
// the sum stands. For a profiled graph (profiled_graph.hpp).
std::optional<FusedSum> sum_to_fuse(torch::jit::Graph& graph, torch::jit::Node* convolution);

}  // namespace tally::graph_optimizer
