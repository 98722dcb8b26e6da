// SPDX-License-Identifier: Apache-2.0
#include "onednn/copies_for_layout.hpp"

#include <algorithm>

#include <torch/csrc/jit/ir/alias_analysis.h>

#include "onednn/onednn_arithmetic.hpp"
#include "torchscript/jit_graph.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

// What they give holds the same numbers in whatever layout they are read.
bool keeps_numbers_in_any_layout(const Node* node) {
  return is_function(node) ||
         is_a(node, {"aten::relu", "aten::silu", "aten::cat", "prim::ListConstruct"});
}

bool only_convolutions_read(const Value* value) {
  return std::ranges::all_of(value->uses(), [](const Use& use) {
    if (is_a(use.user, {"aten::_convolution", "aten::conv2d"})) return use.offset == 0;
    return keeps_numbers_in_any_layout(use.user) && only_convolutions_read(use.user->output());
  });
}

}  // namespace

int drop_copies_before_convolutions(torch::jit::Graph& graph) {
  const torch::jit::AliasDb aliases(graph.shared_from_this());
  int num_dropped = 0;
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::contiguous"}) || !only_convolutions_read(node->output())) continue;
    // A later write to the source must not reach those who read the copy.
    if (aliases.hasWriters(node->input(0)) || aliases.hasWriters(node->output())) continue;
    node->output()->replaceAllUsesWith(node->input(0));
    node->destroy();
    ++num_dropped;
  }
  return num_dropped;
}

}  // namespace tally::model
