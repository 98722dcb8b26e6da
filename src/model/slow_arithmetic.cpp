#include "slow_arithmetic.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <c10/util/accumulate.h>

#include "factors_of_one.hpp"
#include "graph_edit.hpp"
#include "profiled_graph.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Numbers = std::vector<std::int64_t>;

std::optional<Numbers> strides_of(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type ? type->strides().concrete_sizes() : std::nullopt;
}

// A number, or a tensor without dimensions.
bool is_number(const Value* value) {
  const auto sizes = sizes_of(value);
  const auto constant = torch::jit::toIValue(value);
  const bool is_constant = constant && constant->isTensor() && constant->toTensor().defined();
  return !value->type()->isSubtypeOf(*c10::TensorType::get()) || (sizes && sizes->empty()) ||
         (is_constant && constant->toTensor().dim() == 0);
}

// A part of a tensor, with numbers of others between its own.
bool lies_apart(const Value* value) {
  const auto sizes = sizes_of(value);
  const auto strides = strides_of(value);
  if (!sizes || !strides) return false;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) last += (sizes->at(i) - 1) * strides->at(i);
  return last + 1 != c10::multiply_integers(*sizes);
}

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

bool is_slow_in_onednn(const Node* arithmetic) {
  if (is_a(arithmetic, {"aten::div"})) return !is_number(arithmetic->input(1));
  if (!is_a(arithmetic, {"aten::add", "aten::mul"})) return false;
  return repeats_blocks(arithmetic) || is_of_what_lies_apart(arithmetic->input(0)) ||
         is_of_what_lies_apart(arithmetic->input(1));
}

}  // namespace tally::model
