// SPDX-License-Identifier: Apache-2.0
#include "onednn/onednn_arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/jit/ir/constants.h>

#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Those that LibTorch's fuser takes, wherever they stand.
constexpr Kinds kFunctions{"aten::tanh",       "aten::sigmoid", "aten::gelu",   "aten::hardswish",
                           "aten::elu",        "aten::sqrt",    "aten::square", "aten::abs",
                           "aten::leaky_relu", "aten::log",     "aten::round"};
// After these oneDNN computes functions in the same pass.
constexpr Kinds kBeforeFunctions{"aten::_convolution", "aten::conv2d", "aten::linear",
                                 "aten::matmul",       "aten::mm",     "aten::bmm",
                                 "aten::add",          "aten::mul",    "aten::layer_norm",
                                 "aten::batch_norm",   "aten::softmax"};

constexpr Kinds kArithmetic{"aten::add", "aten::mul"};

// x * sigmoid(x), which it takes after a layer.
bool is_swish(const Node* function) {
  return std::ranges::any_of(function->output()->uses(), [&](const torch::jit::Use& use) {
    const auto factors = use.user->inputs();
    return is_a(use.user, {"aten::mul"}) &&
           std::ranges::find(factors, function->input(0)) != factors.end();
  });
}

// Whether it is computed in the same pass as what stands before it.
bool continues_a_pass(const Node* function) {
  const auto* const x = function->input(0);
  if (!is_a(x->node(), kBeforeFunctions) && !is_function(x->node())) return false;
  return x->uses().size() == 1 || is_swish(function);
}

void prepend_factor_of_one(Graph& graph, Node* function) {
  const auto* const reader = only_reader(function->output());
  if (reader == nullptr || !is_a(reader, kArithmetic) || continues_a_pass(function)) return;
  const torch::jit::WithInsertPoint here(function);
  auto* const product = insert_product_with_one(graph, function->input(0));
  if (product != nullptr) function->replaceInput(0, product);
}

}  // namespace

bool is_function(const Node* node) { return is_a(node, kFunctions); }

Value* insert_product_with_one(Graph& graph, Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  const auto sizes = sizes_of(value);
  if (!type || !type->scalarType() || !sizes || sizes->empty()) return nullptr;
  auto* const one = graph.insertConstant(at::ones({1}, *type->scalarType()));
  auto* const product =
      graph.insertNode(graph.create(c10::Symbol::fromQualString("aten::mul"), {value, one}));
  product->output()->setType(type);
  return product->output();
}

void append_factor_of_one(Graph& graph, Node* softmax) {
  const torch::jit::WithInsertPoint here(softmax->next());
  auto* const product = insert_product_with_one(graph, softmax->output());
  if (product == nullptr) return;
  softmax->output()->replaceAllUsesAfterNodeWith(product->node(), product);
}

void prepend_factors_of_one(Graph& graph) {
  for (Node* node : all_nodes(graph.block())) {
    if (is_function(node)) prepend_factor_of_one(graph, node);
  }
}

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// What the fuser makes of a number: a tensor of one element and of the result's type. None where
// that has another value, or where the number is not known.
std::optional<at::Tensor> as_tensor(const Value* value, c10::ScalarType type) {
  const auto number = constant_number(value);
  if (!number) return std::nullopt;
  auto tensor = at::full({1}, *number, at::TensorOptions(type));
  const bool is_kept = type == at::kFloat || tensor.item<double>() == *number;
  return is_kept ? std::optional(tensor) : std::nullopt;
}

// Two numbers of bfloat16 whose product is nearest to `number`: 3e-4 of it away at most, where it
// would itself be rounded by up to 3.9e-3.
std::pair<double, double> nearest_factors(double number) {
  constexpr int kMantissas = 128;  // between 1 and 2
  const auto rounded = [](double x) {
    return static_cast<float>(c10::BFloat16(static_cast<float>(x)));
  };
  const auto error = [number](const auto& pair) {
    return std::abs(pair.first * pair.second - number);
  };
  std::pair<double, double> best{1, rounded(number)};
  for (int i = 1; i < kMantissas; ++i) {
    const double first = 1 + static_cast<double>(i) / kMantissas;
    const std::pair<double, double> pair{first, rounded(number / first)};
    if (error(pair) < error(best)) best = pair;
  }
  return best;
}

// In bfloat16 a product with a number that would be rounded becomes one with two numbers, where
// oneDNN computes both in the pass before, in float32 (NF-ResNets' ReLUs with a gain). In float16
// the first product may overflow. Whether it did.
bool split_factor(Graph& graph, Node* node, c10::ScalarType type) {
  const auto number = constant_number(node->input(1));
  const auto* const x = node->input(0);
  const bool is_in_a_pass =
      is_a(x->node(), {"aten::relu", "aten::leaky_relu", "aten::add"}) && only_reader(x) == node;
  if (!is_a(node, {"aten::mul"}) || !number || !is_in_a_pass) return false;
  if (type != at::kBFloat16) return false;
  const auto [first, second] = nearest_factors(*number);
  const torch::jit::WithInsertPoint here(node);
  const auto factor = [&](double one) {
    return graph.insertConstant(at::full({1}, one, at::TensorOptions(at::kBFloat16)));
  };
  Node* const product =
      graph.insertNode(graph.create(node->kind(), {node->input(0), factor(first)}));
  product->output()->setType(node->output()->type());
  node->replaceInput(0, product->output());
  node->replaceInput(1, factor(second));
  return true;
}

}  // namespace

std::optional<double> constant_number(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant) return std::nullopt;
  if (constant->isScalar()) return constant->toScalar().toDouble();
  if (!constant->isTensor() || !constant->toTensor().defined()) return std::nullopt;
  const auto& tensor = constant->toTensor();
  const bool is_number = tensor.dim() == 0 && tensor.is_floating_point();
  return is_number ? std::optional(tensor.item<double>()) : std::nullopt;
}

bool is_number(const Value* value) {
  const auto sizes = sizes_of(value);
  return !is_tensor(value) || constant_number(value) || (sizes && sizes->empty());
}

bool settle_numbers(Graph& graph, Node* node) {
  const auto type = node->output()->type()->cast<c10::TensorType>();
  if (!type) return true;  // of numbers alone
  const auto scalar_type = type->scalarType().value_or(at::kDouble);
  const auto sizes = sizes_of(node->output());
  const bool is_known =
      type->scalarType() && c10::isFloatingType(scalar_type) && sizes && !sizes->empty();
  const bool is_scaled = is_a(node, {"aten::add"}) && !is_one(constant(node, "alpha"));
  std::array<std::optional<at::Tensor>, 2> settled;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    if (!is_number(node->input(i))) continue;
    if (is_known) settled[i] = as_tensor(node->input(i), scalar_type);
    if (settled[i]) continue;
    return is_known && i == 1 && split_factor(graph, node, scalar_type);
  }
  if (is_scaled && scalar_type != at::kFloat) return false;
  const torch::jit::WithInsertPoint here(node);
  for (std::size_t i = 0; i < settled.size(); ++i) {
    if (settled[i]) node->replaceInput(i, graph.insertConstant(*settled[i]));
  }
  return true;
}

}  // namespace tally::graph_optimizer
