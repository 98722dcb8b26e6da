#include "fuse_convolutions.hpp"

#include <algorithm>
#include <initializer_list>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>

namespace tally::model {
namespace {

using torch::jit::AliasDb;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr double kSlopeThatKeepsNan = 1e-30;
constexpr const char* kFused = "mkldnn::_convolution_pointwise";
constexpr const char* kFusedSum = "mkldnn::_convolution_pointwise_";

bool is_a(const Node* node, std::initializer_list<const char*> kinds) {
  return std::ranges::any_of(
      kinds, [&](const char* kind) { return node->kind() == c10::Symbol::fromQualString(kind); });
}

bool has_operator(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchema({name, overload}).has_value();
}

// What oneDNN's operator `name` answers.
at::IValue ask(const char* name, torch::jit::Stack arguments) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(arguments);
  return arguments.front();
}

bool has_kernels_for(c10::ScalarType type) {
  if (type == at::kFloat) return true;
  const char* question = type == at::kBFloat16 ? "mkldnn::_is_mkldnn_bf16_supported"
                                               : "mkldnn::_is_mkldnn_fp16_supported";
  return (type == at::kBFloat16 || type == at::kHalf) && has_operator(question, "") &&
         ask(question, {}).toBool();
}

Node* single_user(const Value* value) {
  return value->uses().size() == 1 ? value->uses().front().user : nullptr;
}

// `name` of a node as a constant; None where it is none.
at::IValue constant(const Node* node, const char* name) {
  return torch::jit::toIValue(node->namedInput(name)).value_or(at::IValue());
}

// A two-dimensional convolution whose weights and settings are known.
bool is_convolution(const Node* node) {
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
         has_kernels_for(tensor.scalar_type());
}

// input, weight, …, groups: what both fused operators begin with, but for the sum's other side.
std::vector<Value*> begin_of(const Node* convolution) {
  return {convolution->namedInput("input"),  convolution->namedInput("weight"),
          convolution->namedInput("bias"),   convolution->namedInput("padding"),
          convolution->namedInput("stride"), convolution->namedInput("dilation"),
          convolution->namedInput("groups")};
}

// Puts `fused` where the graph stands and its result in the place of `last`'s.
void replace(Graph& graph, Node* fused, Node* last) {
  graph.insertNode(fused);
  fused->output()->copyMetadata(last->output());
  last->output()->replaceAllUsesWith(fused->output());
  last->destroy();
}

// Whether what is tiny in `value` is lost in larger sums, or cut off, before it reaches the scores,
// where it would break ties.
bool is_lost(const Value* value, std::unordered_set<const Value*>& seen) {
  return std::ranges::all_of(value->uses(), [&](const torch::jit::Use& use) {
    if (is_a(use.user, {"aten::_convolution", "aten::conv2d", "aten::linear", "aten::addmm",
                        "aten::relu", "aten::relu_", kFused})) {
      return true;
    }
    if (!is_a(use.user, {"aten::max_pool2d", "aten::avg_pool2d", "aten::adaptive_avg_pool2d",
                         "aten::mean", "aten::flatten", "aten::cat", "prim::ListConstruct",
                         "aten::add", "aten::add_", kFusedSum})) {
      return false;
    }
    const Value* next = use.user->output();
    return !seen.insert(next).second || is_lost(next, seen);
  });
}

// A ReLU of what nothing else uses.
bool is_relu_of_convolution(const Node* node) {
  if (!is_a(node, {"aten::relu", "aten::relu_"})) return false;
  const Node* convolution = node->input(0)->node();
  std::unordered_set<const Value*> seen;
  return is_convolution(convolution) && single_user(node->input(0)) == node &&
         convolution->owningBlock() == node->owningBlock() && is_lost(node->output(), seen);
}

void fuse_relu(Graph& graph, Node* relu) {
  Node* convolution = relu->input(0)->node();
  // Not where the ReLU stands: what the convolution reads may have been written over by then.
  const torch::jit::WithInsertPoint here(convolution);
  auto inputs = begin_of(convolution);
  inputs.push_back(graph.insertConstant("leaky_relu"));
  c10::impl::GenericList slope(c10::OptionalType::create(c10::NumberType::get()));
  slope.push_back(at::Scalar(kSlopeThatKeepsNan));
  inputs.push_back(graph.insertConstant(slope));
  inputs.push_back(graph.insertConstant(at::IValue()));
  replace(graph, graph.create(c10::Symbol::fromQualString(kFused), inputs), relu);
  convolution->destroy();
}

// Whether the memory of `value` may be written to from `sum` on: made anew in each run, and needed
// by nothing later.
bool is_free_from(AliasDb& aliases, Graph& graph, Value* value, const Node* sum) {
  const auto shared = [&](Value* other) { return aliases.mayContainAlias(other, value); };
  if (std::ranges::any_of(graph.inputs(), shared)) return false;
  if (std::ranges::any_of(graph.outputs(), shared)) return false;
  for (Node* node : graph.nodes()) {
    const bool lasts = is_a(node, {"prim::Constant", "prim::GetAttr"});
    if (lasts && std::ranges::any_of(node->outputs(), shared)) return false;
    if (node->isAfter(sum) && std::ranges::any_of(node->inputs(), shared)) return false;
  }
  return true;
}

// sum = convolution + other, written over `other`.
bool fuse_sum(Graph& graph, Node* sum, Value* of_convolution, Value* other) {
  Node* convolution = of_convolution->node();
  const bool is_tensor = other->type()->isSubtypeOf(*c10::TensorType::get());
  if (!is_tensor || !is_convolution(convolution)) return false;
  if (single_user(of_convolution) != sum) return false;
  AliasDb aliases(graph.shared_from_this());
  const bool reads_other = std::ranges::any_of(
      convolution->inputs(), [&](Value* input) { return aliases.mayContainAlias(input, other); });
  if (reads_other || !is_free_from(aliases, graph, other, sum)) return false;
  if (!aliases.moveBeforeTopologicallyValid(convolution, sum)) return false;
  const torch::jit::WithInsertPoint here(sum);
  auto inputs = begin_of(convolution);
  inputs.insert(inputs.begin(), other);
  const at::IValue none;
  const c10::impl::GenericList nothing(c10::OptionalType::create(c10::NumberType::get()));
  for (const at::IValue& value :
       {at::IValue("add"), at::IValue(1.0), none, at::IValue(nothing), none}) {
    inputs.push_back(graph.insertConstant(value));
  }
  replace(graph, graph.create(c10::Symbol::fromQualString(kFusedSum), inputs), sum);
  convolution->destroy();
  return true;
}

bool is_plain_sum(const Node* node) {
  if (!is_a(node, {"aten::add", "aten::add_"}) || node->inputs().size() != 3) return false;
  const auto alpha = constant(node, "alpha");
  return alpha.isInt() && alpha.toInt() == 1;
}

// One at a time: each changes what is known of the graph.
bool fuse_one_sum(Graph& graph) {
  for (Node* node : graph.nodes()) {
    if (!is_plain_sum(node)) continue;
    Value* const left = node->input(0);
    Value* const right = node->input(1);
    if (fuse_sum(graph, node, left, right) || fuse_sum(graph, node, right, left)) return true;
  }
  return false;
}

bool has_branches(Graph& graph) {
  for (Node* node : graph.nodes()) {
    if (!node->blocks().empty()) return true;
  }
  return false;
}

}  // namespace

void fuse_convolutions(Graph& graph, Sums sums) {
  if (!has_operator(kFused, "") || !has_operator(kFusedSum, "binary")) return;
  if (sums == Sums::fused && !has_branches(graph)) {
    while (fuse_one_sum(graph)) {
    }
  }
  std::vector<Node*> relus;
  for (Node* node : graph.nodes()) {
    if (is_relu_of_convolution(node)) relus.push_back(node);
  }
  for (Node* relu : relus) fuse_relu(graph, relu);
}

}  // namespace tally::model
