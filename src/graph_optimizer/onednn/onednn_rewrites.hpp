// SPDX-License-Identifier: Apache-2.0
// What LibTorch's oneDNN fuser is given: operators that it takes, and none that would hide NaN.
#pragma once

#include <cstdint>
#include <unordered_set>

#include <torch/csrc/jit/ir/ir.h>

#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {

// Products of attention stay with LibTorch where the fuser does not take a network with them.
enum class Hidden { nothing, products };

inline constexpr Kinds kClamps{"aten::relu6", "aten::hardtanh", "aten::clamp"};

// oneDNN's clamp makes its lower bound of NaN. So it gets those that no NaN can reach, as long as
// the inputs are what value_bounds.hpp says; the others are hidden from it.
struct Clamps {
  std::unordered_set<const torch::jit::Node*> to_fuse;
  std::int64_t num_hidden = 0;
};
Clamps sort_clamps(torch::jit::Graph& graph);

// For a profiled graph (profiled_graph.hpp) and what sort_clamps() says of it. Each change keeps
// what the graph computes, but for ReLUs whose slope below zero becomes nan_propagating_relu.hpp's,
// and for products that are rounded to 16 bits before they are summed up (addcmul, norms over
// pixels).
void rewrite_for_onednn(torch::jit::Graph& graph, Hidden hidden, const Clamps& clamps);

}  // namespace tally::graph_optimizer
