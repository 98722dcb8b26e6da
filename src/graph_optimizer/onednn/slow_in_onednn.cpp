// SPDX-License-Identifier: Apache-2.0
#include "onednn/slow_in_onednn.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <c10/core/MemoryFormat.h>
#include <torch/csrc/jit/ir/constants.h>

#include "onednn/onednn_arithmetic.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// Beside functions; in one pass, or in one layout.
constexpr Kinds kInOneGo{
    "aten::add",      "aten::sub",        "aten::mul",          "aten::div", "aten::relu",
    "aten::hardtanh", "aten::relu6",      "aten::clamp",        "aten::cat", "aten::permute",
    "aten::softmax",  "aten::batch_norm", "prim::ListConstruct"};

bool is_function_of_slice(const Value* value) {
  return is_function(value->node()) && !is_dense(value->node()->input(0));
}

using Sizes = std::vector<std::int64_t>;

// Whether dimensions that both have follow on one another in the same order: both channels-last, or
// both contiguous. Dimensions count from the last one on, since tensors are repeated along the
// first ones.
bool are_in_one_memory_order(const Value* left, const Value* right) {
  const auto our_sizes = sizes_of(left), their_sizes = sizes_of(right);
  const auto ours = strides_of(left), theirs = strides_of(right);
  if (!our_sizes || !their_sizes || !ours || !theirs) return true;
  const auto from_last = [](const Sizes& all, std::size_t i) { return all.at(all.size() - i); };
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;
  for (std::size_t i = 1; i <= std::min(ours->size(), theirs->size()); ++i) {
    const bool is_in_both = from_last(*our_sizes, i) > 1 && from_last(*their_sizes, i) > 1;
    if (is_in_both) strides.emplace_back(from_last(*ours, i), from_last(*theirs, i));
  }
  std::ranges::sort(strides);
  return std::ranges::is_sorted(strides, {}, &std::pair<std::int64_t, std::int64_t>::second);
}

// As LibTorch asks it of each part of a concatenation, whose result is contiguous if one is not.
bool is_channels_last(const Value* value) {
  const auto sizes = sizes_of(value), strides = strides_of(value);
  return sizes && strides && c10::is_channels_last_strides_2d(*sizes, *strides);
}

// Of matrices.
bool has_neither_dense_rows_nor_columns(const Value* value) {
  const auto strides = strides_of(value);
  if (!strides || strides->size() < 2) return false;
  return std::min(strides->at(strides->size() - 1), strides->at(strides->size() - 2)) > 1;
}

// oneDNN computes attention one matrix after the other, at some 300 ns a call.
bool has_small_matrices(const Node* product) {
  constexpr std::int64_t kLeastOperations = 1 << 12;  // TNT has 16 x 16 x 6, Swin 49 x 49 x 32
  const auto left = sizes_of(product->input(0)), result = sizes_of(product->output());
  if (!left || !result || left->size() < 3 || result->size() < 3) return false;
  const auto rows = result->at(result->size() - 2);
  return rows * result->back() * left->back() < kLeastOperations;
}

bool is_slow_factor(const Value* value) {
  return has_neither_dense_rows_nor_columns(value) ||
         follows_on(value, {"aten::_convolution", "aten::conv2d"});
}

}  // namespace

bool follows_on(const Value* value, Kinds kinds) {
  return comes_from(
      value, [&](const Value* one) { return is_a(one->node(), kinds); },
      [](const Value* one) {
        const auto* const node = one->node();
        return is_function(node) || is_a(node, kInOneGo) ? node->inputs() : Inputs();
      });
}

bool is_slow_arithmetic(const Node* arithmetic) {
  constexpr std::size_t kDimensions = 5;
  const auto type = arithmetic->output()->type()->cast<c10::TensorType>();
  if (!is_a(arithmetic, {"aten::add", "aten::mul"}) || !type || !type->scalarType()) return false;
  if (!c10::isFloatingType(*type->scalarType())) return false;  // as sums of masks are
  const auto* left = arithmetic->input(0);
  const auto* right = arithmetic->input(1);
  if (is_function_of_slice(left) || is_function_of_slice(right)) return true;
  const auto ours = sizes_of(left), theirs = sizes_of(right);
  if (!ours || !theirs) return false;
  const bool has_blocks = ours != theirs && std::min(ours->size(), theirs->size()) >= kDimensions;
  return has_blocks || !is_dense(left) || !is_dense(right) || !are_in_one_memory_order(left, right);
}

bool is_slow_product(const Node* product) {
  return is_a(product, {"aten::matmul", "aten::bmm"}) &&
         (has_small_matrices(product) || is_slow_factor(product->input(0)) ||
          is_slow_factor(product->input(1)));
}

bool is_slow_concatenation(const Node* concatenation) {
  if (!is_a(concatenation, {"aten::cat"})) return false;
  const auto parts = concatenation->input(0)->node()->inputs();
  const auto num_channels_last = std::ranges::count_if(parts, is_channels_last);
  const bool is_mixed =
      num_channels_last > 0 && static_cast<std::size_t>(num_channels_last) < parts.size();
  return !is_mixed || !std::ranges::all_of(parts, is_dense);
}

bool is_slow_softmax(const Node* softmax) {
  const auto dim = torch::jit::toIValue(softmax->input(1));
  const auto sizes = sizes_of(softmax->input(0));
  const auto strides = strides_of(softmax->input(0));
  if (!dim || !dim->isInt() || !sizes || !strides) return true;
  const auto last = static_cast<std::int64_t>(sizes->size()) - 1;
  std::int64_t expected = 1;
  for (std::size_t i = sizes->size(); i-- > 0; expected *= sizes->at(i)) {
    if (sizes->at(i) > 1 && strides->at(i) != expected) return true;
  }
  return dim->toInt() != -1 && dim->toInt() != last;
}

}  // namespace tally::graph_optimizer
