#include "torchscript/fold_numbers.hpp"

#include <optional>

#include <ATen/WrapDimUtils.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

#include "onednn/profiled_graph.hpp"
#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;

bool gives_a_number(const Node* node) {
  return node->outputs().size() == 1 && node->kind() != c10::prim::Constant &&
         node->output()->type()->isSubtypeOf(*c10::NumberType::get());
}

std::optional<c10::IValue> size_of(const torch::jit::Value* tensor, const c10::IValue& dim) {
  const auto sizes = sizes_of(tensor);
  if (!sizes || !dim.isInt()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  return sizes->at(static_cast<std::size_t>(at::maybe_wrap_dim(dim.toInt(), rank)));
}

bool is_all_sizes(const Node* node) {
  return is_a(node, {"aten::size"}) && node->inputs().size() == 1;
}

std::optional<c10::IValue> value_of(const Node* node) {
  if (is_a(node, {"aten::size"})) return size_of(node->input(0), constant(node, "dim"));
  if (is_a(node, {"aten::__getitem__"}) && is_all_sizes(node->input(0)->node())) {
    return size_of(node->input(0)->node()->input(0), constant(node, "idx"));
  }
  const auto found = torch::jit::runNodeIfInputsAreConstant(node);
  return found ? std::optional(found->front()) : std::nullopt;
}

// `n, c, h, w = x.shape`
void fold_unpacked_sizes(torch::jit::Graph& graph, Node* unpacked) {
  const torch::jit::WithInsertPoint here(unpacked);
  for (std::size_t i = 0; i < unpacked->outputs().size(); ++i) {
    const auto size = size_of(unpacked->input()->node()->input(0), static_cast<std::int64_t>(i));
    if (size) unpacked->output(i)->replaceAllUsesWith(graph.insertConstant(*size));
  }
}

}  // namespace

void fold_numbers(torch::jit::Graph& graph) {
  for (Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"prim::ListUnpack"}) && is_all_sizes(node->input()->node())) {
      fold_unpacked_sizes(graph, node);
    }
    if (!gives_a_number(node)) continue;
    const auto value = value_of(node);
    if (!value) continue;
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(*value));
    node->destroy();
  }
}

}  // namespace tally::model
