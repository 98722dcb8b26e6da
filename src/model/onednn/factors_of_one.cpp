#include "onednn/factors_of_one.hpp"

#include <algorithm>

#include <ATen/ops/ones.h>

#include "onednn/profiled_graph.hpp"
#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
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

}  // namespace tally::model
