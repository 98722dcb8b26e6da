#include "slow_in_onednn.hpp"

#include <cstddef>
#include <cstdint>

#include <torch/csrc/jit/ir/constants.h>

#include "factors_of_one.hpp"
#include "graph_edit.hpp"
#include "profiled_graph.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool is_of_what_lies_apart(const Value* value) {
  return is_function(value->node()) && lies_apart(value->node()->input(0));
}

bool repeats_blocks(const Node* arithmetic) {
  constexpr std::size_t kDimensions = 5;
  const auto left = sizes_of(arithmetic->input(0));
  const auto right = sizes_of(arithmetic->input(1));
  return left && right && left->size() >= kDimensions && right->size() >= kDimensions &&
         left != right;
}

}  // namespace

bool is_slow_arithmetic(const Node* arithmetic) {
  if (!is_a(arithmetic, {"aten::add", "aten::mul"})) return false;
  return repeats_blocks(arithmetic) || is_of_what_lies_apart(arithmetic->input(0)) ||
         is_of_what_lies_apart(arithmetic->input(1));
}

bool is_slow_softmax(const Node* softmax) {
  const auto dim = torch::jit::toIValue(softmax->input(1));
  const auto strides = strides_of(softmax->input(0));
  if (!dim || !dim->isInt() || !strides || strides->empty()) return true;
  const auto rank = static_cast<std::int64_t>(strides->size());
  const auto index = static_cast<std::size_t>((dim->toInt() + rank) % rank);
  return strides->at(index) != 1 || lies_apart(softmax->input(0));
}

}  // namespace tally::model
