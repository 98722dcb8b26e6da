#include "pool_without_indices.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/maximum.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/library.h>

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

constexpr const char* kHalvingPool = "tally::max_pool2d";

// Of each two neighbours the first; an odd one at the end has no neighbour and is dropped.
at::Tensor firsts(const at::Tensor& x, std::int64_t dim) { return x.slice(dim, 0, -1, 2); }
at::Tensor seconds(const at::Tensor& x, std::int64_t dim) {
  return x.slice(dim, 1, std::nullopt, 2);
}

at::Tensor halve(const at::Tensor& x) {
  const bool is_batch = x.dim() == 4 && x.layout() == at::kStrided && x.is_floating_point();
  // LibTorch says what is wrong with a size.
  if (!is_batch || x.numel() == 0 || x.size(2) < 2 || x.size(3) < 2) {
    return at::max_pool2d(x, {2, 2});
  }
  const auto rows = at::maximum(firsts(x, 2), seconds(x, 2));
  auto pooled = at::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options(),
                          x.suggest_memory_format());
  return at::maximum_out(pooled, firsts(rows, 3), seconds(rows, 3));
}

// The first call makes the operator known, until the process ends.
void register_once() {
  static const auto library = [] {
    torch::Library made(torch::Library::DEF, "tally", std::nullopt, __FILE__, __LINE__);
    made.def("max_pool2d(Tensor self) -> Tensor", &halve);
    return made;
  }();
}

// Whether `name` is known to be given as `number`, for both dimensions in one or each.
bool is_all(const Node* node, const char* name, std::int64_t number) {
  const auto value = torch::jit::toIValue(node->namedInput(name));
  if (!value || !value->isIntList()) return false;
  return std::ranges::all_of(value->toIntVector(), [&](auto each) { return each == number; });
}

bool is_halving(const Node* node) {
  if (node->kind() != c10::Symbol::fromQualString("aten::max_pool2d")) return false;
  const auto ceil_mode = torch::jit::toIValue(node->namedInput("ceil_mode"));
  // An empty stride is the kernel's size.
  return is_all(node, "kernel_size", 2) && is_all(node, "stride", 2) &&
         is_all(node, "padding", 0) && is_all(node, "dilation", 1) && ceil_mode &&
         ceil_mode->isBool() && !ceil_mode->toBool();
}

void collect(torch::jit::Block* block, std::vector<Node*>& pools) {
  for (Node* node : block->nodes()) {
    if (is_halving(node)) pools.push_back(node);
    for (auto* branch : node->blocks()) collect(branch, pools);
  }
}

}  // namespace

int pool_without_indices(Graph& graph) {
  std::vector<Node*> pools;
  collect(graph.block(), pools);
  if (!pools.empty()) register_once();
  for (Node* pool : pools) {
    const torch::jit::WithInsertPoint here(pool);
    Node* halving =
        graph.create(c10::Symbol::fromQualString(kHalvingPool), {pool->namedInput("self")});
    graph.insertNode(halving)->output()->copyMetadata(pool->output());
    pool->output()->replaceAllUsesWith(halving->output());
    pool->destroy();
  }
  return static_cast<int>(pools.size());
}

}  // namespace tally::model
