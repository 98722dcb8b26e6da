#include "torchscript/tensor_sources.hpp"

#include <algorithm>

#include "torchscript/hidden_operators.hpp"
#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Constants, and elements of lists, come from operators that take no tensor.
bool has_no_source(const Value* value) {
  const auto* const node = value->node();
  return is_tensor(value) && !is_a(node, {"prim::Param"}) &&
         std::ranges::none_of(node->inputs(), is_tensor);
}

bool is_float32(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type && type->scalarType() == at::kFloat;
}

}  // namespace

void give_sources(Graph& graph, Hidden hidden) {
  register_hidden_operators();
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::add", "aten::mul"})) continue;
    if (hidden == Hidden::nothing && !is_float32(node->output())) continue;
    const torch::jit::WithInsertPoint here(node);
    for (const std::size_t i : {0U, 1U}) {
      Value* const value = node->input(i);
      if (!has_no_source(value)) continue;
      auto* const same =
          graph.insertNode(graph.create(c10::Symbol::fromQualString(kSame), {value, value, value}));
      same->output()->setType(value->type());
      node->replaceInput(i, same->output());
    }
  }
}

}  // namespace tally::model
