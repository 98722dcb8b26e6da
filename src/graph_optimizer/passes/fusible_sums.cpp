// SPDX-License-Identifier: Apache-2.0
#include "passes/fusible_sums.hpp"

#include <algorithm>

#include <torch/csrc/jit/ir/alias_analysis.h>

#include "kernels/winograd_pass.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// Their result is always new memory.
constexpr Kinds kMakers{"aten::_convolution",
                        "aten::conv2d",
                        "aten::relu",
                        "aten::add",
                        "aten::mul",
                        "aten::sigmoid",
                        "aten::batch_norm",
                        "aten::max_pool2d",
                        "aten::avg_pool2d",
                        "aten::adaptive_avg_pool2d",
                        kWinograd};
constexpr Kinds kWriters{"aten::relu_", "aten::add_"};

// Whether the value has memory of its own, made in this run, that no other living value shares.
// Schemas do not tell: type_as and its like return their very input where there is nothing to do.
bool is_own(const Value* value) {
  const Node* maker = value->node();
  if (is_a(maker, kMakers)) return true;
  if (is_a(maker, {kWinogradSum})) return true;  // it wrote over what was free
  return is_a(maker, kWriters) && maker->input(0)->uses().size() == 1 && is_own(maker->input(0));
}

// Whether its memory may be written to from `sum` on.
bool is_free_from(const Value* value, const Node* sum) {
  return is_own(value) && std::ranges::all_of(value->uses(), [&](const torch::jit::Use& use) {
           return use.user == sum || (is_a(use.user, kMakers) && use.user->isBefore(sum));
         });
}

bool is_plain_sum(const Node* node) {
  if (!is_a(node, {"aten::add", "aten::add_"}) || node->inputs().size() != 3) return false;
  const auto alpha = constant(node, "alpha");
  return alpha.isInt() && alpha.toInt() == 1;
}

bool has_branches(torch::jit::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node* node) { return !node->blocks().empty(); });
}

}  // namespace

std::optional<FusedSum> sum_to_fuse(torch::jit::Graph& graph, Node* convolution) {
  Node* const sum = only_reader(convolution->output());
  if (sum == nullptr || !is_plain_sum(sum) || has_branches(graph)) return std::nullopt;
  Value* const other = sum->input(0) == convolution->output() ? sum->input(1) : sum->input(0);
  const auto sizes = sizes_of(other);
  if (!sizes || sizes != sizes_of(convolution->output())) return std::nullopt;
  if (convolution->namedInput("input") == other || !is_free_from(other, sum)) return std::nullopt;
  torch::jit::AliasDb aliases(graph.shared_from_this());
  if (!aliases.moveBeforeTopologicallyValid(convolution, sum)) return std::nullopt;
  return FusedSum{sum, other};
}

}  // namespace tally::graph_optimizer
