// What LibTorch's oneDNN fuser is given: operators that it takes, and none that would hide NaN.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// The fuser of LibTorch 2.11 ends with std::out_of_range where scores of attention are scaled and
// masked in ways that its patterns do not know. Without the products of attention it takes the
// rest.
enum class Products { fused, hidden };

// For a profiled graph (profiled_graph.hpp). Each change keeps what the graph computes, but for
// ReLUs whose slope below zero becomes relu_slope.hpp's.
void rewrite_for_onednn(torch::jit::Graph& graph, Products products);

}  // namespace tally::model
