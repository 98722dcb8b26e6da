#include "varying_shapes.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>

#include "graph_edit.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// Tensors become numbers here. LibTorch's registry has no tags for them: they are TorchScript's.
constexpr Kinds kToNumbers{"aten::Int",           "aten::IntImplicit",    "aten::Float",
                           "aten::FloatImplicit", "aten::ScalarImplicit", "aten::Bool",
                           "aten::tolist",        "prim::tolist"};

bool is_number(const Value* value) {
  const auto& type = *value->type();
  return type.isSubtypeOf(*c10::NumberType::get()) || type.kind() == c10::TypeKind::BoolType ||
         type.isSubtypeOf(*c10::ListType::ofInts());
}

// Whether the numbers in it depend on those in the network's inputs. Numbers that are no tensors
// are left out: has_varying_shapes() looks at the operators that make them of tensors. Sizes, which
// traced networks turn into tensors and back, are such numbers.
bool depends_on_inputs(const Value* value) {
  std::unordered_set<const Value*> seen;
  std::vector<const Value*> open{value};
  while (!open.empty()) {
    const auto* const next = open.back();
    open.pop_back();
    if (is_number(next) || !seen.insert(next).second) continue;
    if (is_a(next->node(), {"prim::Param"})) return true;
    for (const auto* input : next->node()->inputs()) open.push_back(input);
  }
  return false;
}

// Whether an index selects elements by a mask, so that the size of the result depends on the mask's
// values. True also where the dtype of an index is not known.
bool has_boolean_index(const Node* index) {
  const auto indices = index->input(1)->node()->inputs();
  return std::ranges::any_of(indices, [](const Value* value) {
    if (is_none(value)) return false;
    const auto type = value->type()->cast<c10::TensorType>();
    const auto scalar_type = type ? type->scalarType() : std::nullopt;
    return !scalar_type || *scalar_type == at::kBool || *scalar_type == at::kByte;
  });
}

bool varies(const Node* node) {
  if (!node->blocks().empty()) return true;
  if (is_a(node, kToNumbers)) return depends_on_inputs(node->input(0));
  if (is_a(node, {"aten::index"}) && !has_boolean_index(node)) return false;
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) return false;
  const auto found = c10::Dispatcher::singleton().findSchema(schema->operator_name());
  return found && (found->hasTag(at::Tag::dynamic_output_shape) ||
                   found->hasTag(at::Tag::data_dependent_output));
}

}  // namespace

bool has_varying_shapes(torch::jit::Graph& graph) {
  return std::ranges::any_of(all_nodes(graph.block()), varies);
}

}  // namespace tally::model
