#include "fold_numbers.hpp"

#include <optional>

#include <ATen/WrapDimUtils.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

#include "graph_edit.hpp"
#include "profiled_graph.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;

bool gives_a_number(const Node* node) {
  return node->outputs().size() == 1 && node->kind() != c10::prim::Constant &&
         node->output()->type()->isSubtypeOf(*c10::NumberType::get());
}

std::optional<c10::IValue> value_of(const Node* node) {
  if (is_a(node, {"aten::size"})) {
    const auto sizes = sizes_of(node->input(0));
    const auto dim = constant(node, "dim");
    if (!sizes || !dim.isInt()) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(sizes->size());
    return sizes->at(static_cast<std::size_t>(at::maybe_wrap_dim(dim.toInt(), rank)));
  }
  const auto found = torch::jit::runNodeIfInputsAreConstant(node);
  return found ? std::optional(found->front()) : std::nullopt;
}

}  // namespace

void fold_numbers(torch::jit::Graph& graph) {
  for (Node* node : all_nodes(graph.block())) {
    if (!gives_a_number(node)) continue;
    const auto value = value_of(node);
    if (!value) continue;
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(*value));
    node->destroy();
  }
}

}  // namespace tally::model
