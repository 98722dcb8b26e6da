#include "onednn/split_linear.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>

#include "onednn/factors_of_one.hpp"
#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
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
  for (Node* node : {found.unpack, found.split, found.layer}) node->destroy();
}

}  // namespace

int split_linear_layers(Graph& graph) {
  std::vector<Node*> layers;
  std::ranges::copy_if(all_nodes(graph.block()), std::back_inserter(layers),
                       [](const Node* node) { return is_a(node, {"aten::linear"}); });
  int num_split = 0;
  for (Node* const layer : layers) {
    if (const auto found = gated(layer)) {
      take_apart(graph, *found);
      ++num_split;
    }
  }
  return num_split;
}

}  // namespace tally::model
