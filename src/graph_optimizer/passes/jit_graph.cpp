// SPDX-License-Identifier: Apache-2.0
#include "passes/jit_graph.hpp"

#include <algorithm>
#include <unordered_set>

#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/ir/constants.h>

namespace tally::graph_optimizer {
namespace {

void collect(torch::jit::Block* block, std::vector<torch::jit::Node*>& nodes) {
  for (auto* node : block->nodes()) {
    nodes.push_back(node);
    for (auto* branch : node->blocks()) collect(branch, nodes);
  }
}

}  // namespace

bool is_a(const torch::jit::Node* node, Kinds kinds) {
  return std::ranges::any_of(
      kinds, [&](const char* kind) { return node->kind() == c10::Symbol::fromQualString(kind); });
}

std::vector<torch::jit::Node*> all_nodes(torch::jit::Block* block) {
  std::vector<torch::jit::Node*> nodes;
  collect(block, nodes);
  return nodes;
}

at::IValue constant(const torch::jit::Node* node, const char* name) {
  return torch::jit::toIValue(node->namedInput(name)).value_or(at::IValue());
}

bool is_one(const at::IValue& factor) {
  return factor.isScalar() && factor.toScalar().toDouble() == 1;
}

bool is_all(const torch::jit::Node* node, const char* name, std::int64_t number) {
  return std::ranges::all_of(constant(node, name).toIntVector(),
                             [number](auto n) { return n == number; });
}

torch::jit::Node* only_reader(const torch::jit::Value* value) {
  // A reader in the block of a branch or a loop may run never, or often.
  if (value->uses().size() != 1) return nullptr;
  auto* const user = value->uses().front().user;
  return user->owningBlock() == value->node()->owningBlock() ? user : nullptr;
}

bool comes_from(const torch::jit::Value* value,
                const std::function<bool(const torch::jit::Value*)>& is_found,
                const std::function<Inputs(const torch::jit::Value*)>& inputs_of) {
  std::unordered_set<const torch::jit::Value*> seen;
  std::vector<const torch::jit::Value*> open{value};
  while (!open.empty()) {
    const auto* const next = open.back();
    open.pop_back();
    // Values meet again where branches of a network join.
    if (!seen.insert(next).second) continue;
    if (is_found(next)) return true;
    const auto inputs = inputs_of(next);
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return false;
}

bool is_tensor(const torch::jit::Value* value) {
  return value->type()->isSubtypeOf(*c10::TensorType::get());
}

bool is_none(const torch::jit::Value* value) {
  return value->type()->kind() == c10::TypeKind::NoneType;
}

bool is_tensor_or_none(const torch::jit::Value* value) {
  return is_tensor(value) || is_none(value);
}

bool is_known_convolution(const torch::jit::Node* node) {
  if (!is_a(node, {"aten::_convolution", "aten::convolution", "aten::conv2d"})) return false;
  const bool is_settled =
      constant(node, "stride").isIntList() && constant(node, "padding").isIntList() &&
      constant(node, "dilation").isIntList() && constant(node, "groups").isInt();
  const auto weight = constant(node, "weight");
  if (!is_settled || !weight.isTensor()) return false;
  // aten::_convolution stands for convolutions in one to three dimensions: its weight tells which.
  const bool is_transposed = !is_a(node, {"aten::conv2d"}) &&
                             !constant(node, "transposed").equals(at::IValue(false)).toBool();
  const auto& tensor = weight.toTensor();
  return !is_transposed && tensor.dim() == 4 && tensor.layout() == at::kStrided &&
         is_tensor_or_none(node->namedInput("bias"));
}

torch::jit::Value* bias_or_zeros(torch::jit::Graph& graph, const torch::jit::Node* convolution,
                                 const at::Tensor& weight) {
  auto* const bias = convolution->namedInput("bias");
  return is_none(bias) ? graph.insertConstant(at::zeros({weight.size(0)}, weight.options())) : bias;
}

void replace(torch::jit::Graph& graph, torch::jit::Node* made, torch::jit::Node* last) {
  graph.insertNode(made);
  for (std::size_t i = 0; i < last->outputs().size(); ++i) {
    // The type goes along: later passes ask for the sizes that the profile has shown.
    made->output(i)->copyMetadata(last->output(i));
    last->output(i)->replaceAllUsesWith(made->output(i));
  }
  last->destroy();
}

void destroy_nodes(torch::jit::Graph& graph) {
  while (!graph.outputs().empty()) graph.eraseOutput(graph.outputs().size() - 1);
  // Nodes go from the last one back, because a node that is still read cannot be destroyed.
  auto nodes = graph.nodes().reverse();
  for (auto node = nodes.begin(); node != nodes.end(); ++node) node.destroyCurrent();
}

}  // namespace tally::graph_optimizer
