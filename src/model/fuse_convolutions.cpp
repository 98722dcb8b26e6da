#include "fuse_convolutions.hpp"

#include <algorithm>
#include <initializer_list>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>

#include "graph_edit.hpp"
#include "use_narrow.hpp"
#include "use_winograd.hpp"

namespace tally::model {
namespace {

using torch::jit::AliasDb;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr double kSlopeThatKeepsNan = 1e-30;

using Kinds = std::initializer_list<const char*>;
constexpr Kinds kLayers{"aten::_convolution", "aten::conv2d", "aten::linear"};
constexpr Kinds kFusedLayers{kFused, kFusedSum};
// A tiny share of what they are given is tiny in what they give.
constexpr Kinds kPassing{"aten::max_pool2d",    "aten::avg_pool2d", "aten::adaptive_avg_pool2d",
                         "aten::mean",          "aten::flatten",    "aten::cat",
                         "prim::ListConstruct", "aten::relu",       "aten::relu_",
                         "aten::add",           "aten::add_"};
// Their result is always new memory.
constexpr Kinds kMakers{"aten::_convolution", "aten::conv2d",
                        "aten::relu",         "aten::add",
                        "aten::mul",          "aten::sigmoid",
                        "aten::batch_norm",   "aten::max_pool2d",
                        "aten::avg_pool2d",   "aten::adaptive_avg_pool2d"};

bool is_a(const Node* node, Kinds kinds) {
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

// The fused operator, in the place of `last`.
void become(Graph& graph, Node* convolution, const char* with, const at::IValue& scalars,
            Node* last) {
  // Not where `last` stands: what the convolution reads may have been written over by then.
  const torch::jit::WithInsertPoint here(convolution);
  auto inputs = begin_of(convolution);
  for (const at::IValue& value : {at::IValue(with), scalars, at::IValue()}) {
    inputs.push_back(graph.insertConstant(value));
  }
  replace(graph, graph.create(c10::Symbol::fromQualString(kFused), inputs), last);
  if (last != convolution) convolution->destroy();
}

// Whether the layer adds to every sum a constant beside which 1e-20 vanishes.
bool has_firm_bias(const Node* layer) {
  constexpr double kLeast = 1e-10;
  const auto bias = constant(layer, "bias");
  return bias.isTensor() && bias.toTensor().abs().gt(kLeast).all().item<bool>();
}

// Whether what is tiny in `value` vanishes beside a bias on every way to the scores, where it would
// break ties.
bool is_lost(const Value* value, std::unordered_set<const Value*>& seen) {
  return std::ranges::all_of(value->uses(), [&](const torch::jit::Use& use) {
    const bool is_layer = is_a(use.user, kLayers);
    if (is_layer && has_firm_bias(use.user)) return true;
    const bool passes_on = is_layer || is_a(use.user, kFusedLayers) || is_a(use.user, kPassing);
    // What add_ writes to may have other users.
    const bool is_hidden = is_a(use.user, {"aten::add_"}) && use.user->input(0)->uses().size() > 1;
    if (!passes_on || is_hidden) return false;
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
  auto slope = no_scalars();
  slope.push_back(at::Scalar(kSlopeThatKeepsNan));
  become(graph, relu->input(0)->node(), kFusedRelu, slope, relu);
}

// Whether the value has memory of its own, made in this run, that no other living value shares.
// Schemas do not tell: type_as and its like return their very input where there is nothing to do.
bool is_own(const Value* value) {
  const Node* maker = value->node();
  if (is_a(maker, kMakers) || is_a(maker, {kFused})) return true;
  if (is_a(maker, {kFusedSum})) return true;  // it wrote over what was free
  return is_a(maker, {"aten::relu_", "aten::add_"}) && maker->input(0)->uses().size() == 1 &&
         is_own(maker->input(0));
}

// Whether its memory may be written to from `sum` on.
bool is_free_from(const Value* value, const Node* sum) {
  return is_own(value) && std::ranges::all_of(value->uses(), [&](const torch::jit::Use& use) {
           return use.user == sum || (is_a(use.user, kMakers) && use.user->isBefore(sum));
         });
}

// sum = convolution + other, written over `other`.
bool fuse_sum(Graph& graph, Node* sum, Value* of_convolution, Value* other) {
  Node* convolution = of_convolution->node();
  const bool is_tensor = other->type()->isSubtypeOf(*c10::TensorType::get());
  if (!is_tensor || !is_convolution(convolution)) return false;
  if (single_user(of_convolution) != sum) return false;
  if (convolution->namedInput("input") == other || !is_free_from(other, sum)) return false;
  AliasDb aliases(graph.shared_from_this());
  if (!aliases.moveBeforeTopologicallyValid(convolution, sum)) return false;
  const torch::jit::WithInsertPoint here(sum);
  auto inputs = begin_of(convolution);
  inputs.insert(inputs.begin(), other);
  const at::IValue none;
  for (const at::IValue& value :
       {at::IValue("add"), at::IValue(1.0), none, at::IValue(no_scalars()), none}) {
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

// One that nothing was fused into, but that may run another way.
bool is_worth_taking(const Node* node) {
  if (!is_convolution(node)) return false;
  const auto weight = constant(node, "weight").toTensor();
  return suits_winograd(node, weight) || suits_narrow(node, weight);
}

bool has_branches(Graph& graph) {
  for (Node* node : graph.nodes()) {
    if (!node->blocks().empty()) return true;
  }
  return false;
}

}  // namespace

int fuse_convolutions(Graph& graph, Sums sums) {
  if (!has_operator(kFused, "") || !has_operator(kFusedSum, "binary")) return 0;
  int num_fused = 0;
  if (sums == Sums::fused && !has_branches(graph)) {
    while (fuse_one_sum(graph)) ++num_fused;
  }
  std::vector<Node*> relus;
  for (Node* node : graph.nodes()) {
    if (is_relu_of_convolution(node)) relus.push_back(node);
  }
  for (Node* relu : relus) fuse_relu(graph, relu);
  return num_fused + static_cast<int>(relus.size());
}

bool is_fused(Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node* n) { return is_a(n, kFusedLayers); });
}

int take_plain_convolutions(Graph& graph) {
  if (!has_operator(kFused, "")) return 0;
  std::vector<Node*> convolutions;
  for (Node* node : graph.nodes()) {
    if (is_worth_taking(node)) convolutions.push_back(node);
  }
  for (Node* node : convolutions) become(graph, node, "none", no_scalars(), node);
  return static_cast<int>(convolutions.size());
}

}  // namespace tally::model
