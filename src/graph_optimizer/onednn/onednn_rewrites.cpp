// SPDX-License-Identifier: Apache-2.0
#include "onednn/onednn_rewrites.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <ATen/ops/full.h>
#include <torch/csrc/jit/ir/constants.h>

#include "onednn/hidden_operators.hpp"
#include "onednn/join_small_factors.hpp"
#include "onednn/linear_layers.hpp"
#include "onednn/nan_propagating_relu.hpp"
#include "onednn/normalisation_rewrites.hpp"
#include "onednn/onednn_arithmetic.hpp"
#include "onednn/pixel_reductions.hpp"
#include "onednn/profiled_graph.hpp"
#include "onednn/slow_in_onednn.hpp"
#include "passes/jit_graph.hpp"
#include "passes/value_bounds.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

c10::Symbol symbol(const char* name) { return c10::Symbol::fromQualString(name); }

// oneDNN's ReLU makes 0 of NaN.
void rewrite_relu(Graph& graph, Node* relu) {
  const torch::jit::WithInsertPoint here(relu);
  Value* const x = relu->input(0);
  Node* const made =
      tiny_numbers_vanish(relu->output())
          ? graph.create(symbol("aten::leaky_relu"), {x, graph.insertConstant(kSlopeThatKeepsNan)})
          : graph.create(symbol("aten::clamp_min"), {x, graph.insertConstant(0)});
  replace(graph, made, relu);
}

std::optional<double> number(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isScalar() ? std::optional(constant->toScalar().toDouble())
                                          : std::nullopt;
}

// The same under a name that the fuser does not know.
void hide(Graph& graph, Node* node, const char* other_name) {
  register_hidden_operators();
  const torch::jit::WithInsertPoint here(node);
  replace(graph, graph.create(symbol(other_name), node->inputs(), node->outputs().size()), node);
}

// The fuser reads the limits of a clamp as constant numbers, and has no tensor without dimensions.
bool has_plain_limits(const Node* clamp) {
  const auto sizes = sizes_of(clamp->output());
  if (!sizes || sizes->empty()) return false;
  if (is_a(clamp, {"aten::relu6"})) return true;
  const auto least = number(clamp->input(1));
  const auto most = number(clamp->input(2));
  return least && most && *least <= *most;
}

void hide_clamp(Graph& graph, Node* clamp) {
  if (!is_a(clamp, {"aten::relu6"})) return hide(graph, clamp, "aten::clip");
  const torch::jit::WithInsertPoint here(clamp);
  Value* const least = graph.insertConstant(0);
  Value* const most = graph.insertConstant(6);
  replace(graph, graph.create(symbol("aten::clip"), {clamp->input(0), least, most}), clamp);
}

// It asks for them as floating-point numbers.
void widen_factors(Graph& graph, Node* node) {
  const torch::jit::WithInsertPoint here(node);
  for (std::size_t i = 1; i < node->inputs().size(); ++i) {
    const auto factor = torch::jit::toIValue(node->input(i));
    if (!factor || !factor->isInt()) continue;
    node->replaceInput(i, graph.insertConstant(factor->toScalar().toDouble()));
  }
}

void hide_arithmetic(Graph& graph, Node* node) {
  if (is_a(node, {"aten::add"})) return hide(graph, node, kAdd);
  hide(graph, node, is_a(node, {"aten::mul"}) ? "aten::multiply" : "aten::divide");
}

// oneDNN takes a product whose second matrix lies as linear() has it; GPT-2's are the other way
// round.
void rewrite_addmm(Graph& graph, Node* addmm) {
  if (is_linear(addmm)) {
    return replace_by_linear(graph, addmm, linear_weight(addmm).contiguous());
  }
  widen_factors(graph, addmm);
}

// oneDNN adds a tensor to what a normalisation gives, or what follows on it, in memory that does
// not hold the tensor yet. It takes another way where one of them is repeated.
bool is_sum_with_normalised(const Node* sum) {
  const auto ours = sizes_of(sum->input(0)), theirs = sizes_of(sum->input(1));
  const Kinds norm{"aten::layer_norm"};
  return (!ours || !theirs || ours == theirs) &&
         (follows_on(sum->input(0), norm) || follows_on(sum->input(1), norm));
}

// The name under which LibTorch runs a node that the fuser must not see; null for all others. The
// fuser does not look at all arguments: at a GELU's approximation, an ELU's scales, the decimals
// that are kept in rounding, a softmax's type and how a quotient is rounded. Of most quotients of
// tensors oneDNN has its reference code alone.
const char* hidden_name(const Node* node, Hidden hidden) {
  if (node->outputs().empty() || !is_tensor(node->outputs().front())) return nullptr;
  if (is_a(node, {"aten::exp"})) return kExp;
  if (is_a(node, {"aten::max_pool2d_with_indices"})) return kMaxPoolWithIndices;
  if (is_a(node, {"aten::avg_pool2d"})) return kAveragePool;
  const char* name = nullptr;
  bool is_hidden = true;
  if (is_a(node, {"aten::gelu"})) {
    name = kGelu;
    is_hidden = node->inputs().size() > 1 && !constant(node, "approximate").equals("none").toBool();
  } else if (is_a(node, {"aten::elu"})) {
    name = kElu;
    is_hidden = !is_one(constant(node, "scale")) || !is_one(constant(node, "input_scale"));
  } else if (is_a(node, {"aten::round"})) {
    name = kRound;
    is_hidden = node->inputs().size() > 1;
  } else if (is_a(node, {"aten::softmax"})) {
    name = "aten::special_softmax";
    is_hidden = !constant(node, "dtype").isNone() || is_slow_softmax(node);
  } else if (is_a(node, {"aten::cat"})) {
    name = "aten::concat";
    is_hidden = is_slow_concatenation(node);
  } else if (is_a(node, {"aten::matmul", "aten::bmm"})) {
    name = "aten::linalg_matmul";
    is_hidden = hidden == Hidden::products || is_slow_product(node);
  } else if (is_a(node, {"aten::add"})) {
    name = kAdd;
    is_hidden = is_slow_arithmetic(node) || is_sum_with_normalised(node);
  } else if (is_a(node, {"aten::mul"})) {
    name = "aten::multiply";
    is_hidden = is_slow_arithmetic(node);
  } else if (is_a(node, {"aten::div"})) {
    name = "aten::divide";
    is_hidden = node->inputs().size() > 2 || !is_number(node->input(1));
  }
  return is_hidden ? name : nullptr;
}

// As a product and a sum, which it takes.
void split_addcmul(Graph& graph, Node* node) {
  const auto sizes = sizes_of(node->output());
  if (!is_one(constant(node, "value")) || !sizes || sizes_of(node->input(2)) != sizes) return;
  const torch::jit::WithInsertPoint here(node);
  auto* const product =
      graph.insertNode(graph.create(symbol("aten::mul"), {node->input(1), node->input(2)}));
  product->output()->setType(node->input(2)->type());
  const std::vector<Value*> inputs{node->input(0), product->output(), graph.insertConstant(1)};
  replace(graph, graph.create(symbol("aten::add"), inputs), node);
}

bool is_read_by_slow_product(const Node* softmax) {
  return std::ranges::any_of(softmax->output()->uses(),
                             [](const auto& use) { return is_slow_product(use.user); });
}

// Whether a function alone reads a normalisation, and oneDNN computes it with what stands before
// it.
bool begins_a_pass(const Node* norm, Hidden hidden) {
  const auto* const reader = only_reader(norm->output());
  if (reader == nullptr) return false;
  if (is_a(reader, {"aten::relu"})) return tiny_numbers_vanish(reader->output());
  const bool is_taken = is_function(reader) || is_a(reader, {"aten::silu"});
  return is_taken && hidden_name(reader, hidden) == nullptr;
}

void rewrite(Graph& graph, Node* node, Hidden hidden, const Clamps& clamps) {
  if (is_a(node, {"aten::relu"})) {
    rewrite_relu(graph, node);
  } else if (is_a(node, kClamps)) {
    if (!clamps.to_fuse.contains(node)) hide_clamp(graph, node);
  } else if (is_a(node, {"aten::softmax"})) {
    const bool stands_alone = hidden == Hidden::products || is_read_by_slow_product(node);
    if (stands_alone) append_factor_of_one(graph, node);
  } else if (is_a(node, {"aten::layer_norm"})) {
    complete_weights(graph, node);
  } else if (is_a(node, {"aten::batch_norm"})) {
    const bool is_replaced = begins_a_pass(node, hidden) && replace_by_arithmetic(graph, node);
    if (!is_replaced) complete_weights(graph, node);
  } else if (is_a(node, {"aten::addmm"})) {
    rewrite_addmm(graph, node);
  } else if (is_a(node, {"aten::elu", "aten::leaky_relu"})) {
    widen_factors(graph, node);
  } else if (is_a(node, {"aten::add", "aten::mul", "aten::div"})) {
    if (!settle_numbers(graph, node)) hide_arithmetic(graph, node);
  }
}

}  // namespace

Clamps sort_clamps(Graph& graph) {
  Clamps clamps;
  for (const Node* node : all_nodes(graph.block())) {
    if (is_a(node, kClamps)) clamps.to_fuse.insert(node);
  }
  if (clamps.to_fuse.empty()) return clamps;
  const ValueBounds bounds(graph);
  clamps.num_hidden =
      static_cast<std::int64_t>(std::erase_if(clamps.to_fuse, [&](const Node* clamp) {
        return !bounds.knows(clamp->input(0)) || !has_plain_limits(clamp);
      }));
  return clamps;
}

void rewrite_for_onednn(Graph& graph, Hidden hidden, const Clamps& clamps) {
  // The first steps look for LibTorch's names of layers, products and sums, which the loop below
  // changes. The last ones look at the operands that are left after it.
  fold_into_linear_layers(graph);
  for (Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::addcmul"})) split_addcmul(graph, node);
  }
  join_small_factors(graph);
  for (Node* node : all_nodes(graph.block())) {
    if (const char* const name = hidden_name(node, hidden)) {
      hide(graph, node, name);
    } else {
      rewrite(graph, node, hidden, clamps);
    }
  }
  prepend_factors_of_one(graph);
  reduce_pixels_by_pools(graph);
  give_sources(graph, hidden);
}

}  // namespace tally::graph_optimizer
