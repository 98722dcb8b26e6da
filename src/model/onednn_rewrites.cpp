#include "onednn_rewrites.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/ir/constants.h>

#include "graph_edit.hpp"
#include "hidden_operators.hpp"
#include "profiled_graph.hpp"
#include "relu_slope.hpp"

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

c10::Symbol symbol(const char* name) { return c10::Symbol::fromQualString(name); }

Value* insert(Graph& graph, const char* kind, const std::vector<Value*>& inputs,
              const Value* in_place_of) {
  auto* const made = graph.insertNode(graph.create(symbol(kind), inputs))->output();
  made->setType(in_place_of->type());
  return made;
}

Value* leaky(Graph& graph, Value* x, const Value* in_place_of) {
  return insert(graph, "aten::leaky_relu", {x, graph.insertConstant(kSlopeThatKeepsNan)},
                in_place_of);
}

void take_place(Node* old, Value* made) {
  old->output()->replaceAllUsesWith(made);
  old->destroy();
}

// oneDNN's ReLU makes 0 of NaN.
void rewrite_relu(Graph& graph, Node* relu) {
  const torch::jit::WithInsertPoint here(relu);
  Value* const x = relu->input(0);
  const Value* const out = relu->output();
  take_place(relu, tiny_numbers_vanish(out)
                       ? leaky(graph, x, out)
                       : insert(graph, "aten::clamp_min", {x, graph.insertConstant(0)}, out));
}

struct Bounds {
  double least, most;
};

std::optional<double> number(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isScalar() ? std::optional(constant->toScalar().toDouble())
                                          : std::nullopt;
}

std::optional<Bounds> bounds_of(const Node* node) {
  if (is_a(node, {"aten::relu6", "aten::relu6_"})) return Bounds{0, 6};
  if (!is_a(node, {"aten::hardtanh", "aten::hardtanh_", "aten::clamp", "aten::clamp_"})) return {};
  const auto least = number(node->input(1));
  const auto most = number(node->input(2));
  return least && most ? std::optional(Bounds{*least, *most}) : std::nullopt;
}

// oneDNN's makes the lower bound of NaN: where that is minus infinity, what follows shows it.
void rewrite_clamp(Graph& graph, Node* clamp) {
  const torch::jit::WithInsertPoint here(clamp);
  Value* const x = clamp->input(0);
  const Value* const out = clamp->output();
  const auto bounds = bounds_of(clamp);
  if (bounds && bounds->least == 0 && tiny_numbers_vanish(out)) {
    Value* const none = graph.insertConstant(at::IValue());
    Value* const most = graph.insertConstant(bounds->most);
    return take_place(clamp, leaky(graph, insert(graph, "aten::clamp", {x, none, most}, out), out));
  }
  // The same under a name that the fuser does not know.
  Value* const least = bounds ? graph.insertConstant(bounds->least) : clamp->input(1);
  Value* const most = bounds ? graph.insertConstant(bounds->most) : clamp->input(2);
  take_place(clamp, insert(graph, "aten::clip", {x, least, most}, out));
}

// The same under a name that the fuser does not know.
void hide(Graph& graph, Node* node, const char* other_name) {
  register_hidden_operators();
  const torch::jit::WithInsertPoint here(node);
  take_place(node, insert(graph, other_name, node->inputs().vec(), node->output()));
}

// How many weights a normalisation has; none where that is not known.
std::vector<std::int64_t> weight_size(const Node* norm) {
  if (is_a(norm, {"aten::layer_norm"})) {
    const auto shape = constant(norm, "normalized_shape");
    return shape.isIntList() ? shape.toIntVector() : std::vector<std::int64_t>();
  }
  const auto sizes = sizes_of(norm->output());
  return sizes && sizes->size() > 1 ? std::vector{sizes->at(1)} : std::vector<std::int64_t>();
}

// The fuser takes weights and biases for granted.
void name_weights(Graph& graph, Node* norm) {
  const auto size = weight_size(norm);
  const auto type = norm->output()->type()->expect<c10::TensorType>()->scalarType();
  if (size.empty() || !type) return;
  const torch::jit::WithInsertPoint here(norm);
  const auto fill = [&](const char* name, const at::Tensor& values) {
    const auto* const given = norm->namedInput(name);
    if (given->type()->kind() != c10::TypeKind::NoneType) return;
    const auto inputs = norm->inputs();
    const auto found = std::ranges::find(inputs, given);  // weights come before biases
    norm->replaceInput(static_cast<std::size_t>(found - inputs.begin()),
                       graph.insertConstant(values));
  };
  fill("weight", at::ones(size, *type));
  fill("bias", at::zeros(size, *type));
}

// It asks for them as floating-point numbers.
void widen_factors(Graph& graph, Node* node) {
  const torch::jit::WithInsertPoint here(node);
  for (std::size_t i = 1; i < node->inputs().size(); ++i) {
    const auto factor = torch::jit::toIValue(node->input(i));
    if (!factor || !factor->isInt()) continue;
    node->replaceInput(i, graph.insertConstant(factor->toScalar().toDouble()));
  }
}

// A number that a tensor is added to, multiplied with or divided by; traced ones are tensors
// without dimensions.
std::optional<double> operand(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant) return std::nullopt;
  if (constant->isScalar()) return constant->toScalar().toDouble();
  if (!constant->isTensor() || !constant->toTensor().defined()) return std::nullopt;
  const auto& tensor = constant->toTensor();
  const bool is_number = tensor.dim() == 0 && tensor.is_floating_point();
  return is_number ? std::optional(tensor.item<double>()) : std::nullopt;
}

void hide_arithmetic(Graph& graph, Node* node) {
  if (is_a(node, {"aten::mul"})) return hide(graph, node, "aten::multiply");
  if (is_a(node, {"aten::div"})) return hide(graph, node, "aten::divide");
  const torch::jit::WithInsertPoint here(node);  // a + b is a - -b
  auto inputs = node->inputs().vec();
  inputs.back() = graph.insertConstant(-constant(node, "alpha").toScalar());
  take_place(node, insert(graph, "aten::subtract", inputs, node->output()));
}

// The fuser takes numbers as tensors of one element and of the other side's type, to which it would
// round them: what no number of 16 bits is stays with LibTorch, which computes with all its digits.
void settle_number(Graph& graph, Node* node) {
  const auto type = node->output()->type()->cast<c10::TensorType>();
  const auto scalar_type = type ? type->scalarType() : std::nullopt;
  if (!scalar_type || !c10::isFloatingType(*scalar_type)) return;
  std::array<std::optional<at::Tensor>, 2> settled;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const auto number = operand(node->input(i));
    if (!number) continue;
    settled[i] = at::full({1}, *number, at::TensorOptions(*scalar_type));
    const bool is_kept = *scalar_type == at::kFloat || settled[i]->item<double>() == *number;
    if (!is_kept) return hide_arithmetic(graph, node);
  }
  const torch::jit::WithInsertPoint here(node);
  for (std::size_t i = 0; i < settled.size(); ++i) {
    if (settled[i]) node->replaceInput(i, graph.insertConstant(*settled[i]));
  }
}

}  // namespace

void rewrite_for_onednn(Graph& graph, Products products) {
  for (Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::relu", "aten::relu_"})) {
      rewrite_relu(graph, node);
    } else if (is_a(node, {"aten::relu6", "aten::relu6_", "aten::hardtanh", "aten::hardtanh_",
                           "aten::clamp", "aten::clamp_"})) {
      rewrite_clamp(graph, node);
    } else if (is_a(node, {"aten::exp", "aten::exp_"})) {
      hide(graph, node, kExp);
    } else if (is_a(node, {"aten::avg_pool2d"})) {
      hide(graph, node, kAveragePool);
    } else if (products == Products::hidden && is_a(node, {"aten::matmul"})) {
      hide(graph, node, "aten::linalg_matmul");
    } else if (is_a(node, {"aten::layer_norm", "aten::batch_norm"})) {
      name_weights(graph, node);
    } else if (is_a(node, {"aten::addmm", "aten::elu", "aten::leaky_relu"})) {
      widen_factors(graph, node);
    } else if (is_a(node, {"aten::add", "aten::mul", "aten::div"})) {
      settle_number(graph, node);
    }
  }
}

}  // namespace tally::model
