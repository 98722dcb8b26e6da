// SPDX-License-Identifier: Apache-2.0
#include "onednn/copies_for_layout.hpp"

#include <algorithm>

#include <c10/core/MemoryFormat.h>
#include <torch/csrc/jit/ir/alias_analysis.h>

#include "onednn/onednn_arithmetic.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

bool is_contiguous_copy(const Node* node) {
  if (!is_a(node, {"aten::contiguous"})) return false;
  const auto format = constant(node, "memory_format");
  return format.isInt() && at::MemoryFormat(format.toInt()) == at::MemoryFormat::Contiguous;
}

// LibTorch lays out the result of a convolution as the input or the weight is: these weights alone
// make it channels-last. Those of 1x1 and of one channel do not.
bool has_channels_last_weight(const Node* convolution) {
  const auto weight = constant(convolution, "weight").toTensor();
  return weight.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
}

// What it gives is the same numbers, in another layout where it reads another.
bool takes_any_layout(const Use& use) {
  if (is_known_convolution(use.user)) return use.offset == 0;
  return is_function(use.user) ||
         is_a(use.user, {"aten::relu", "aten::silu", "aten::cat", "prim::ListConstruct"});
}

// Whether on every way from `value` a convolution gives the same layout for any.
bool ends_in_convolutions(const Value* value) {
  return std::ranges::all_of(value->uses(), [](const Use& use) {
    if (!takes_any_layout(use)) return false;
    const bool is_end = is_known_convolution(use.user) && has_channels_last_weight(use.user);
    return is_end || ends_in_convolutions(use.user->output());
  });
}

}  // namespace

int drop_copies_before_convolutions(torch::jit::Graph& graph) {
  const torch::jit::AliasDb aliases(graph.shared_from_this());
  int num_dropped = 0;
  for (Node* node : all_nodes(graph.block())) {
    if (!is_contiguous_copy(node) || !ends_in_convolutions(node->output())) continue;
    // A later write to the source must not reach those who read the copy.
    if (aliases.hasWriters(node->input(0))) continue;
    node->output()->replaceAllUsesWith(node->input(0));
    node->destroy();
    ++num_dropped;
  }
  return num_dropped;
}

}  // namespace tally::graph_optimizer
