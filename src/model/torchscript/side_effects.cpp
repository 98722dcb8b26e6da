// SPDX-License-Identifier: Apache-2.0
#include "torchscript/side_effects.hpp"

#include <algorithm>

#include <torch/csrc/jit/ir/alias_analysis.h>

#include "torchscript/training_and_determinism.hpp"

namespace tally::model {
namespace {

using torch::jit::Block;
using torch::jit::Node;

bool keeps_state(const Block& block);

// Freezing turns attributes into constants, but for those that are written to.
bool is_state(const Node* node) {
  const auto kind = node->kind();
  return kind == c10::prim::GetAttr || kind == c10::prim::SetAttr ||
         kind == c10::prim::CallMethod || may_draw_numbers(node) ||
         std::ranges::any_of(node->blocks(),
                             [](const Block* block) { return keeps_state(*block); }) ||
         (forked_graph(node) != nullptr && keeps_state(*forked_graph(node)->block()));
}

bool keeps_state(const Block& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), is_state);
}

}  // namespace

const torch::jit::Graph* forked_graph(const Node* node) {
  return node->hasAttribute(c10::attr::Subgraph) ? node->g(c10::attr::Subgraph).get() : nullptr;
}

bool writes_over_inputs(torch::jit::Graph& graph) {
  // An input may be written to by another name: a view of it, or what an operator returns of it.
  const torch::jit::AliasDb aliases(graph.shared_from_this());
  return std::ranges::any_of(graph.inputs(),
                             [&](const auto* input) { return aliases.hasWriters(input); });
}

bool keeps_state(const torch::jit::Graph& graph) { return keeps_state(*graph.block()); }

}  // namespace tally::model
