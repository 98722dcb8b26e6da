#include "torchscript/varying_shapes.hpp"

#include <algorithm>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>

#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// Tensors become numbers here. LibTorch's registry has no tags for them: they are TorchScript's.
constexpr Kinds kToNumbers{"aten::Int",           "aten::IntImplicit",    "aten::Float",
                           "aten::FloatImplicit", "aten::ScalarImplicit", "aten::Bool",
                           "aten::is_nonzero",    "aten::tolist",         "prim::tolist"};
// Nor has it any for these.
constexpr Kinds kOfAnySize{"aten::nonzero_numpy", "aten::_pack_padded_sequence"};
// These have other forms, too, of one shape.
constexpr Kinds kOfAnySizeByTensors{"aten::repeat_interleave", "aten::tensor_split"};
// What they give depends on the shape of a tensor, or on its type, alone.
constexpr Kinds kOfShapes{"aten::zeros_like", "aten::ones_like", "aten::full_like",
                          "aten::empty_like", "aten::new_zeros", "aten::new_ones",
                          "aten::new_full",   "aten::new_empty", "aten::_shape_as_tensor"};

// Tensors, and lists and tuples of them.
bool may_hold_tensors(const Value* value) {
  const auto& type = *value->type();
  const auto kind = type.kind();
  return is_tensor(value) || kind == c10::TypeKind::TupleType ||
         kind == c10::TypeKind::OptionalType || kind == c10::TypeKind::DictType ||
         (kind == c10::TypeKind::ListType && !type.isSubtypeOf(*c10::ListType::ofInts()));
}

// Whether the numbers in it depend on those in the network's inputs. Numbers that are no tensors
// are left out: has_varying_shapes() looks at the operators that make them of tensors. Sizes, which
// traced networks turn into tensors and back, are such numbers.
bool depends_on_inputs(const Value* value) {
  return comes_from(
      value,
      [](const Value* one) { return may_hold_tensors(one) && is_a(one->node(), {"prim::Param"}); },
      [](const Value* one) {
        const auto* const node = one->node();
        if (!may_hold_tensors(one) || is_a(node, kOfShapes)) return Inputs();
        const bool casts =
            is_a(node, {"aten::type_as", "aten::to"});  // the second gives a type alone
        return casts ? node->inputs().slice(0, 1) : node->inputs();
      });
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

// Of other libraries nothing is known.
bool is_foreign(const Node* node) {
  const auto kind = node->kind();
  return !kind.is_aten() && !kind.is_prim() && kind.ns().toUnqualString() != std::string("tally");
}

bool varies(const Node* node) {
  if (!node->blocks().empty() || is_foreign(node) || is_a(node, kOfAnySize)) return true;
  if (is_a(node, {"aten::where"}) && node->inputs().size() == 1) return true;
  if (is_a(node, kOfAnySizeByTensors) && depends_on_inputs(node->input(1))) return true;
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
