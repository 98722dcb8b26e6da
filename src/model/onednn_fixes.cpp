#include "onednn_fixes.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <torch/csrc/jit/passes/utils/subgraph_utils.h>

#include "graph_edit.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

constexpr const char* kPartition = "prim::oneDNNFusionGroup";
constexpr const char* kGuard = "prim::oneDNNFusionGuard";
// What they read first they never write over.
constexpr Kinds kReaders{"aten::_convolution", "aten::conv2d", "aten::linear",
                         "aten::matmul",       "aten::bmm",    "aten::mm"};

bool only_reads(const Node* partition, std::size_t input) {
  const auto* const inside = partition->g(c10::attr::Subgraph)->inputs().at(input);
  return std::ranges::all_of(
      inside->uses(), [](const Use& use) { return use.offset == 0 && is_a(use.user, kReaders); });
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

// Whether one of those that read `value`, but for the last one, may write to it. In a branch or a
// loop it may be read after the last one, too.
bool is_at_risk(const Value* value) {
  std::set<Node*> found;
  for (const Use& use : value->uses()) {
    if (is_a(use.user, {kGuard})) found.insert(use.user);
  }
  std::vector<Node*> guards(found.begin(), found.end());
  std::ranges::sort(guards, [](const Node* a, const Node* b) { return a->isBefore(b); });
  return std::ranges::any_of(guards, [&](const Node* guard) {
    const bool is_last =
        guard == guards.back() && guard->owningBlock() == value->node()->owningBlock();
    return !is_last && may_write(guard, value);
  });
}

// The partition in the branch of a prim::If where it runs, if that is what it holds.
Node* partition_in(Node* branches) {
  if (!is_a(branches, {"prim::If"})) return nullptr;
  for (Node* node : branches->blocks().front()->nodes()) {
    if (is_a(node, {kPartition})) return node;
  }
  return nullptr;
}

int protect_outputs(Node* branches) {
  Node* const partition = partition_in(branches);
  if (partition == nullptr || !partition->hasAttribute(c10::attr::output_layouts)) return 0;
  auto layouts = partition->is(c10::attr::output_layouts);
  int num_changed = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const auto results = branches->blocks().front()->outputs();
    for (std::size_t o = 0; o < results.size(); ++o) {
      if (results[o] != partition->output(i) || layouts[i] == 0) continue;
      if (!is_at_risk(branches->output(o))) continue;
      layouts[i] = 0;
      ++num_changed;
    }
  }
  partition->is_(c10::attr::output_layouts, layouts);
  return num_changed;
}

}  // namespace

int protect_inputs_read_again(torch::jit::Graph& graph) {
  int num_changed = 0;
  for (Node* node : all_nodes(graph.block())) num_changed += protect_outputs(node);
  return num_changed;
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

}  // namespace tally::model
