// SPDX-License-Identifier: Apache-2.0
#include "onednn/onednn_fuser.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include <torch/csrc/jit/passes/utils/subgraph_utils.h>

#include "onednn/onednn_rewrites.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

constexpr const char* kPartition = "prim::oneDNNFusionGroup";
constexpr const char* kGuard = "prim::oneDNNFusionGuard";
// They never write over their first input.
constexpr Kinds kReaders{"aten::_convolution", "aten::conv2d", "aten::linear",
                         "aten::matmul",       "aten::bmm",    "aten::mm"};

bool only_reads(const Node* partition, std::size_t input) {
  const auto* const inside = partition->g(c10::attr::Subgraph)->inputs().at(input);
  return std::ranges::all_of(
      inside->uses(), [](const Use& use) { return use.offset == 0 && is_a(use.user, kReaders); });
}

bool is_read_twice(const Value* input) { return input->uses().size() > 1; }

// LibTorch counts the inputs of a partition otherwise where it reads one of them twice, and may
// then write over another than oneDNN means.
bool reads_one_twice(const Node* partition) {
  return std::ranges::any_of(partition->g(c10::attr::Subgraph)->inputs(), is_read_twice);
}

void put_read_twice_last(Node* partition) {
  auto& fused = *partition->g(c10::attr::Subgraph);
  std::vector<std::size_t> order(fused.inputs().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The others keep their order, so that no other input changes its place among them.
  const auto twice = std::stable_partition(order.begin(), order.end(), [&](std::size_t input) {
    return !is_read_twice(fused.inputs()[input]);
  });
  if (order.end() - twice > 1) throw std::runtime_error("a partition reads two inputs twice");
  fused.block()->permuteInputs(order);
  partition->permuteInputs(order);
}

// A guard hands its inputs on, checked, to the partition in the branch that it decides on.
bool may_write(const Node* guard, const Value* value) {
  for (std::size_t i = 0; i < guard->inputs().size(); ++i) {
    if (guard->input(i) != value) continue;
    for (const Use& use : guard->output(i)->uses()) {
      if (is_a(use.user, {kPartition}) && !only_reads(use.user, use.offset)) return true;
    }
  }
  return false;
}

// Whether one of those that read `value`, but for the last one, may write to it.
bool is_at_risk(const Value* value) {
  std::set<Node*> found;
  for (const Use& use : value->uses()) {
    if (is_a(use.user, {kGuard})) found.insert(use.user);
  }
  std::vector<Node*> guards(found.begin(), found.end());
  // The last reader may write, because nothing reads the value after it.
  std::ranges::sort(guards, [](const Node* a, const Node* b) { return a->isBefore(b); });
  return std::ranges::any_of(
      guards, [&](const Node* guard) { return guard != guards.back() && may_write(guard, value); });
}

// The partition in the branch of a prim::If where it runs, if that is what it holds.
Node* partition_in(Node* branches) {
  if (!is_a(branches, {"prim::If"})) return nullptr;
  for (Node* node : branches->blocks().front()->nodes()) {
    if (is_a(node, {kPartition})) return node;
  }
  return nullptr;
}

void protect_outputs(Node* branches) {
  Node* const partition = partition_in(branches);
  if (partition == nullptr || !partition->hasAttribute(c10::attr::output_layouts)) return;
  auto layouts = partition->is(c10::attr::output_layouts);
  const auto results = branches->blocks().front()->outputs();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (std::size_t o = 0; o < results.size(); ++o) {
      // A layout of 0 is that of the profiled graph, which no partition writes over.
      const bool is_this = results[o] == partition->output(i);
      if (is_this && is_at_risk(branches->output(o))) layouts[i] = 0;
    }
  }
  partition->is_(c10::attr::output_layouts, layouts);
}

}  // namespace

void protect_reused_inputs(torch::jit::Graph& graph) {
  for (Node* node : all_nodes(graph.block())) protect_outputs(node);
}

void put_inputs_read_twice_last(torch::jit::Graph& graph) {
  for (Node* node : all_nodes(graph.block())) {
    if (is_a(node, {kPartition}) && reads_one_twice(node)) put_read_twice_last(node);
  }
}

void inline_fallbacks(torch::jit::Graph& graph) {
  for (Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"prim::FallbackGraph"})) torch::jit::SubgraphUtils::unmergeSubgraph(node);
  }
}

int count_partitions(torch::jit::Graph& graph) {
  const auto nodes = all_nodes(graph.block());
  return static_cast<int>(
      std::ranges::count_if(nodes, [](const Node* node) { return is_a(node, {kPartition}); }));
}

bool has_fused_clamps(torch::jit::Graph& graph) {
  return std::ranges::any_of(all_nodes(graph.block()), [](const Node* node) {
    if (!is_a(node, {kPartition})) return false;
    const auto fused = all_nodes(node->g(c10::attr::Subgraph)->block());
    return std::ranges::any_of(fused, [](const Node* inside) { return is_a(inside, kClamps); });
  });
}

}  // namespace tally::graph_optimizer
