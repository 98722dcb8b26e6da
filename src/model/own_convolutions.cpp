#include "own_convolutions.hpp"

#include <vector>

#include "graph_edit.hpp"
#include "use_narrow.hpp"
#include "use_winograd.hpp"

namespace tally::model {

using torch::jit::Node;

bool is_float_convolution(const Node* node) {
  if (!is_a(node, {"aten::_convolution", "aten::conv2d"})) return false;
  const bool is_settled =
      constant(node, "stride").isIntList() && constant(node, "padding").isIntList() &&
      constant(node, "dilation").isIntList() && constant(node, "groups").isInt();
  const auto weight = constant(node, "weight");
  if (!is_settled || !weight.isTensor()) return false;
  const bool is_transposed = is_a(node, {"aten::_convolution"}) &&
                             !constant(node, "transposed").equals(at::IValue(false)).toBool();
  const auto& tensor = weight.toTensor();
  return !is_transposed && tensor.dim() == 4 && tensor.layout() == at::kStrided &&
         tensor.scalar_type() == at::kFloat && is_tensor_or_none(node->namedInput("bias"));
}

Node* relu_after(const torch::jit::Value* value) {
  Node* const user = only_reader(value);
  return user != nullptr && is_a(user, {"aten::relu", "aten::relu_"}) ? user : nullptr;
}

OwnConvolutions use_own_convolutions(torch::jit::Graph& graph) {
  std::vector<Node*> convolutions;
  for (Node* node : graph.nodes()) {
    if (is_float_convolution(node)) convolutions.push_back(node);
  }
  OwnConvolutions own;
  for (Node* node : convolutions) {
    if (use_winograd(graph, node)) {
      ++own.winograd;
    } else if (use_narrow(graph, node)) {
      ++own.narrow;
    }
  }
  return own;
}

}  // namespace tally::model
