// SPDX-License-Identifier: Apache-2.0
#include "onednn/linear_layers.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/jit/ir/constants.h>

#include "kernels/operator_registration.hpp"
#include "onednn/onednn_arithmetic.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using Bias = std::optional<at::Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;

constexpr const char* kLinear = "tally::linear";
constexpr std::int64_t kLeastWeights = 1 << 16;  // a call of oneDNN costs 10 us

bool fits(const at::Tensor& input, const at::Tensor& weight, const Bias& bias) {
  const bool has_plain_bias = !bias || (bias->dim() == 1 && bias->size(0) == weight.size(0) &&
                                        bias->is_contiguous() && bias->scalar_type() == at::kFloat);
  return has_plain_bias && input.numel() > 0 && input.scalar_type() == at::kFloat &&
         input.dim() >= 2 && input.size(-1) == weight.size(1);
}

}  // namespace

at::Tensor linear_by_onednn(const at::Tensor& input, const at::Tensor& weight, const Bias& bias) {
  if (!at::hasMKLDNN()) return at::linear(input, weight, bias);
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const Bias&, c10::string_view,
                               Scalars, std::optional<c10::string_view>);
  static const auto kOperator = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("mkldnn::_linear_pointwise", "")
                                    .typed<Signature>();
  // What does not fit, and what is wrong with it, is LibTorch's to compute and to say.
  return fits(input, weight, bias) ? kOperator.call(input, weight, bias, "none", Scalars(), {})
                                   : at::linear(input, weight, bias);
}

namespace {

// The first call makes the operator known, until the process ends.
void register_linear_once() {
  static const auto library = [] {
    auto made = own_operators();
    made.def("linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor", &linear_by_onednn);
    return made;
  }();
}

bool pays(const at::Tensor& weight) {
  return weight.dim() == 2 && weight.scalar_type() == at::kFloat &&
         weight.layout() == at::kStrided && weight.is_non_overlapping_and_dense() &&
         weight.numel() >= kLeastWeights;
}

bool suits(const Node* linear) {
  const auto weight = constant(linear, "weight");
  return weight.isTensor() && pays(weight.toTensor()) &&
         is_tensor_or_none(linear->namedInput("bias"));
}

}  // namespace

bool is_linear(const Node* addmm) {
  if (!is_a(addmm, {"aten::addmm"}) || addmm->inputs().size() != 5) return false;  // its overloads
  const auto bias = constant(addmm, "self");
  const auto weight = constant(addmm, "mat2");
  return bias.isTensor() && bias.toTensor().dim() == 1 && weight.isTensor() &&
         weight.toTensor().dim() == 2 && is_one(constant(addmm, "beta")) &&
         is_one(constant(addmm, "alpha")) && bias.toTensor().size(0) == weight.toTensor().size(1);
}

at::Tensor linear_weight(const Node* addmm) { return constant(addmm, "mat2").toTensor().t(); }

void replace_by_linear(Graph& graph, Node* addmm, const at::Tensor& weight) {
  const torch::jit::WithInsertPoint here(addmm);
  const std::vector<torch::jit::Value*> inputs{
      addmm->namedInput("mat1"), graph.insertConstant(weight), addmm->namedInput("self")};
  replace(graph, graph.create(c10::Symbol::fromQualString("aten::linear"), inputs), addmm);
}

int use_onednn_linear(Graph& graph) {
  if (!at::hasMKLDNN()) return 0;
  for (Node* node : all_nodes(graph.block())) {
    // Layers that were written as aten::addmm become linear layers first, so that the second loop
    // finds them as well.
    if (!is_linear(node)) continue;
    const auto weight = linear_weight(node);
    if (pays(weight)) replace_by_linear(graph, node, weight);
  }
  int count = 0;
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::linear"}) || node->inputs().size() != 3 || !suits(node)) continue;
    register_linear_once();
    ++count;
    const torch::jit::WithInsertPoint here(node);
    replace(graph, graph.create(c10::Symbol::fromQualString(kLinear), node->inputs()), node);
  }
  return count;
}

namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

using Sizes = std::vector<std::int64_t>;

// By size: the last part has what is left.
Sizes equal_parts(std::int64_t whole, std::int64_t size) {
  Sizes sizes;
  for (; whole > 0; whole -= size) sizes.push_back(std::min(whole, size));
  return sizes;
}

// Into which a tensor of `whole` columns is taken apart; empty where it is not along its last
// dimension, or where the sizes are no constants.
Sizes parts_of(const Node* split, std::int64_t whole) {
  const auto dim = constant(split, "dim");
  if (!dim.isInt() || dim.toInt() != -1) return {};
  if (is_a(split, {"aten::chunk"})) {
    const auto chunks = constant(split, "chunks");
    if (!chunks.isInt() || chunks.toInt() <= 0) return {};
    return equal_parts(whole, (whole + chunks.toInt() - 1) / chunks.toInt());
  }
  const auto given = torch::jit::toIValue(split->input(1));
  if (!given) return {};
  if (given->isIntList()) return given->toIntVector();
  return given->isInt() && given->toInt() > 0 ? equal_parts(whole, given->toInt()) : Sizes();
}

bool goes_through_a_function(const Value* part) {
  return std::ranges::any_of(part->uses(), [](const torch::jit::Use& use) {
    return is_function(use.user) || is_a(use.user, {"aten::silu"});
  });
}

// Of a layer with weights of 16 bits: a matrix, and no bias or one number for each row.
bool is_usual(const at::IValue& weight, const at::IValue& bias) {
  if (!weight.isTensor() || !at::isReducedFloatingType(weight.toTensor().scalar_type()))
    return false;
  if (weight.toTensor().dim() != 2) return false;
  if (bias.isNone()) return true;
  return bias.isTensor() && bias.toTensor().dim() == 1 &&
         bias.toTensor().size(0) == weight.toTensor().size(0);
}

// A layer, and what takes its result apart.
struct Gated {
  Node* layer = nullptr;
  Node* split = nullptr;
  Node* unpack = nullptr;
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  Sizes parts;
};

std::optional<Gated> gated(Node* layer) {
  const auto weight = constant(layer, "weight"), bias = constant(layer, "bias");
  Node* const split = only_reader(layer->output());
  if (!is_usual(weight, bias) || !(bias.isTensor() || is_none(layer->input(2)))) {
    return std::nullopt;
  }
  if (split == nullptr || !is_a(split, {"aten::split_with_sizes", "aten::split", "aten::chunk"})) {
    return std::nullopt;
  }
  // Anything else that reads the whole result, or the list of its parts, would need it in one
  // piece.
  Node* const unpack = only_reader(split->output());
  if (unpack == nullptr || !is_a(unpack, {"prim::ListUnpack"})) return std::nullopt;
  Gated found{layer, split, unpack, weight.toTensor(), std::nullopt, {}};
  if (bias.isTensor()) found.bias = bias.toTensor();
  found.parts = parts_of(split, found.weight.size(0));
  const bool is_whole = std::reduce(found.parts.begin(), found.parts.end()) == found.weight.size(0);
  const bool pays = std::ranges::any_of(unpack->outputs(), goes_through_a_function);
  if (!is_whole || found.parts.size() != unpack->outputs().size() || !pays) return std::nullopt;
  return found;
}

// The rows of a layer's weight are the columns of its result.
void take_apart(Graph& graph, const Gated& found) {
  const torch::jit::WithInsertPoint here(found.layer);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < found.parts.size(); ++i) {
    const auto size = found.parts[i];
    const auto rows = [&](const at::Tensor& all) {
      return graph.insertConstant(all.narrow(0, first, size).contiguous());
    };
    Value* const bias = found.bias ? rows(*found.bias) : found.layer->input(2);
    Node* const part = graph.insertNode(
        graph.create(found.layer->kind(), {found.layer->input(0), rows(found.weight), bias}));
    found.unpack->outputs()[i]->replaceAllUsesWith(part->output());
    first += size;
  }
  // They go from the last reader on, because a node that is still read cannot be destroyed.
  for (Node* node : {found.unpack, found.split, found.layer}) node->destroy();
}

}  // namespace

int split_linear_layers(Graph& graph) {
  std::vector<Node*> layers;
  std::ranges::copy_if(all_nodes(graph.block()), std::back_inserter(layers),
                       [](const Node* node) { return is_a(node, {"aten::linear"}); });
  // The layers are collected before, because taking one apart puts new linear layers into the
  // graph.
  int num_split = 0;
  for (Node* const layer : layers) {
    if (const auto found = gated(layer)) {
      take_apart(graph, *found);
      ++num_split;
    }
  }
  return num_split;
}

}  // namespace tally::graph_optimizer
