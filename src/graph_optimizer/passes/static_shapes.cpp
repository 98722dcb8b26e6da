// SPDX-License-Identifier: Apache-2.0
#include "passes/static_shapes.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/WrapDimUtils.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
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

namespace {

using torch::jit::Node;

// As traced networks have it, with the arguments of conv2d; LibTorch's oneDNN fuser does not know
// it.
constexpr const char* kByWord = "aten::_convolution_mode";

// None where one side gets more than the other.
std::optional<std::vector<std::int64_t>> padding_of(const Node* convolution) {
  const auto word = constant(convolution, "padding");
  const auto weight = constant(convolution, "weight");
  const auto dilation = constant(convolution, "dilation");
  if (!word.isString() || !weight.isTensor() || !dilation.isIntList()) return std::nullopt;
  std::vector<std::int64_t> padding(2, 0);
  if (word.toStringRef() == "valid") return padding;
  const auto steps = dilation.toIntVector();
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const auto both =
        steps.at(i % steps.size()) * (weight.toTensor().size(static_cast<std::int64_t>(i) + 2) - 1);
    if (both % 2 != 0) return std::nullopt;
    padding[i] = both / 2;
  }
  return padding;
}

}  // namespace

void spell_out_paddings(torch::jit::Graph& graph) {
  constexpr std::size_t kPadding = 4;  // of conv2d's arguments
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::conv2d", kByWord}) || !constant(node, "padding").isString()) continue;
    const torch::jit::WithInsertPoint here(node);
    auto inputs = node->inputs().vec();
    const auto padding = padding_of(node);
    if (padding) inputs.at(kPadding) = graph.insertConstant(*padding);
    const auto kind = c10::Symbol::fromQualString(padding ? "aten::conv2d" : kByWord);
    replace(graph, graph.create(kind, inputs), node);
  }
}

}  // namespace tally::graph_optimizer
