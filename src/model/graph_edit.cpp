#include "graph_edit.hpp"

#include <torch/csrc/jit/ir/constants.h>

namespace tally::model {

at::IValue constant(const torch::jit::Node* node, const char* name) {
  return torch::jit::toIValue(node->namedInput(name)).value_or(at::IValue());
}

c10::impl::GenericList no_scalars() {
  return c10::impl::GenericList(c10::OptionalType::create(c10::NumberType::get()));
}

void replace(torch::jit::Graph& graph, torch::jit::Node* made, torch::jit::Node* last) {
  graph.insertNode(made);
  made->output()->copyMetadata(last->output());
  last->output()->replaceAllUsesWith(made->output());
  last->destroy();
}

}  // namespace tally::model
