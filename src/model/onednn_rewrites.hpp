// What LibTorch's oneDNN fuser is given: operators that it takes, and none that would hide NaN.
#pragma once

#include <cstdint>
#include <unordered_set>

#include <torch/csrc/jit/ir/ir.h>

#include "graph_edit.hpp"

namespace tally::model {

// The fuser of LibTorch 2.11 ends with std::out_of_range where scores of attention are scaled and
// masked in ways that its patterns do not know. It takes the rest of most such networks without the
// products of attention, and of the others without factors of tensors as well.
enum class Hidden { nothing, products, products_and_factors };

inline constexpr Kinds kClamps{"aten::relu6", "aten::hardtanh", "aten::clamp"};

// oneDNN's clamp makes its lower bound of NaN. So it gets those that no NaN can reach, as long as
// the inputs are what value_bounds.hpp says; the others are hidden from it.
struct Clamps {
  std::unordered_set<const torch::jit::Node*> to_fuse;
  std::int64_t num_hidden = 0;
};
Clamps sort_clamps(torch::jit::Graph& graph);

// For a profiled graph (profiled_graph.hpp) and what sort_clamps() says of it. Each change keeps
// what the graph computes, but for ReLUs whose slope below zero becomes relu_slope.hpp's, and for
// products that are rounded to 16 bits before they are summed up (addcmul, norms over pixels).
void rewrite_for_onednn(torch::jit::Graph& graph, Hidden hidden, const Clamps& clamps);

}  // namespace tally::model
