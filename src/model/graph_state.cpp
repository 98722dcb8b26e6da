#include "graph_state.hpp"

#include <algorithm>

namespace tally::model {
namespace {

using torch::jit::Block;
using torch::jit::Node;

bool keeps_state(const Block& block);

// Freezing turns attributes into constants, but for those that are written to.
bool is_state(const Node* node) {
  const auto kind = node->kind();
  return kind == c10::prim::GetAttr || kind == c10::prim::SetAttr ||
         kind == c10::prim::CallMethod || node->isNondeterministic() ||
         std::ranges::any_of(node->blocks(),
                             [](const Block* block) { return keeps_state(*block); });
}

bool keeps_state(const Block& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), is_state);
}

}  // namespace

bool keeps_state(const torch::jit::Graph& graph) { return keeps_state(*graph.block()); }

}  // namespace tally::model
