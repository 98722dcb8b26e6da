// SPDX-License-Identifier: Apache-2.0
#include "onednn/join_small_factors.hpp"

#include <optional>

#include <ATen/ExpandUtils.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "onednn/onednn_arithmetic.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Of `large` and `small`, in any order: large * small, or large + small.
struct Operands {
  Value* large = nullptr;
  Value* small = nullptr;
};

std::optional<std::int64_t> num_elements(const Value* value) {
  const auto sizes = sizes_of(value);
  return sizes ? std::optional(c10::multiply_integers(*sizes)) : std::nullopt;
}

// Whether it fills its memory, is of the result's type, and holds an eighth of its numbers at most.
bool is_small(const Value* value, const Value* result) {
  const auto few = num_elements(value), many = num_elements(result);
  return few && many && *few * 8 <= *many && !sizes_of(value)->empty() &&
         type_of(value) == type_of(result) && is_dense(value);
}

// Of integers a product may not be widened, and in fp16 one of small tensors may overflow where the
// whole does not.
bool has_wide_range(const Value* value) {
  const auto type = type_of(value);
  return type == at::kFloat || type == at::kBFloat16;
}

bool is_of_two_tensors(const Node* node) {
  return is_tensor(node->input(0)) && is_tensor(node->input(1)) && has_wide_range(node->output());
}

bool is_product(const Node* node) { return is_a(node, {"aten::mul"}) && is_of_two_tensors(node); }

bool is_sum(const Node* node) {
  return is_a(node, {"aten::add"}) && is_of_two_tensors(node) && is_one(constant(node, "alpha"));
}

// Whether what a node reads stays as it is for the whole run, so that it may be read later.
bool reads_what_stays(const Node* node, const torch::jit::AliasDb& aliases) {
  return !aliases.hasWriters(node->input(0)) && !aliases.hasWriters(node->input(1));
}

std::optional<Operands> large_and_small(Node* node) {
  Value* const result = node->output();
  for (const std::size_t small : {0u, 1u}) {
    Value* const large = node->input(1 - small);
    const bool is_large =
        sizes_of(large) && sizes_of(large) == sizes_of(result) && type_of(large) == type_of(result);
    if (is_large && is_small(node->input(small), result)) {
      return Operands{large, node->input(small)};
    }
  }
  return std::nullopt;
}

// The operands of the product that is `value`, which only `reader` reads.
std::optional<Operands> product_for(Value* value, const Node* reader,
                                    const torch::jit::AliasDb& aliases) {
  Node* const node = value->node();
  if (!is_product(node) || only_reader(value) != reader) return std::nullopt;
  return reads_what_stays(node, aliases) ? large_and_small(node) : std::nullopt;
}

// Of two tensors of which one has the shape of both together, that one; null else.
Value* wider(Value* a, Value* b) {
  const auto sizes = c10::DimVector(at::infer_size(*sizes_of(a), *sizes_of(b)));
  for (Value* one : {a, b}) {
    if (at::IntArrayRef(*sizes_of(one)) == at::IntArrayRef(sizes)) return one;
  }
  return nullptr;
}

Value* insert(Graph& graph, const char* kind, const std::vector<Value*>& inputs,
              const Value* like) {
  Node* const node = graph.insertNode(graph.create(c10::Symbol::fromQualString(kind), inputs));
  node->output()->setType(like->type());
  return node->output();
}

// Later questions about aliases are asked of the product that is made, too.
void replace_by_product(Graph& graph, Node* product, Value* large, Value* factor,
                        torch::jit::AliasDb& aliases) {
  Value* const made = insert(graph, "aten::mul", {large, factor}, product->output());
  aliases.replaceWithNewValue(product->output(), made);
  product->output()->replaceAllUsesWith(made);
  product->destroy();
}

// (x * a) * b
void join_factors(Graph& graph, Node* product, torch::jit::AliasDb& aliases) {
  const auto outer = large_and_small(product);
  const auto inner = outer ? product_for(outer->large, product, aliases) : std::nullopt;
  if (!inner) return;
  Value* const like = wider(inner->small, outer->small);
  if (like == nullptr) return;
  const torch::jit::WithInsertPoint here(product);
  Value* const factor = insert(graph, "aten::mul", {inner->small, outer->small}, like);
  replace_by_product(graph, product, inner->large, factor, aliases);
}

// (x * a) * 2
void join_number(Graph& graph, Node* product, torch::jit::AliasDb& aliases) {
  Value* const scaled = product->input(0);
  if (!is_tensor(scaled) || type_of(scaled) != type_of(product->output())) return;
  const auto inner = product_for(scaled, product, aliases);
  if (!inner) return;
  const torch::jit::WithInsertPoint here(product);
  Value* const factor = insert(graph, "aten::mul", {inner->small, product->input(1)}, inner->small);
  replace_by_product(graph, product, inner->large, factor, aliases);
}

// x * (a + 1), where `scaled` is x * a.
Value* insert_scaled(Graph& graph, const Operands& scaled, const Value* like) {
  Value* const one = graph.insertConstant(1.0);
  Value* const alpha = graph.insertConstant(1);
  Value* const factor = insert(graph, "aten::add", {scaled.small, one, alpha}, scaled.small);
  return insert(graph, "aten::mul", {scaled.large, factor}, like);
}

// x + x * a, or x + (c + x * a)
void join_terms(Graph& graph, Node* sum, const torch::jit::AliasDb& aliases) {
  for (const std::size_t i : {0u, 1u}) {
    Value* const x = sum->input(i);
    Value* const other = sum->input(1 - i);
    const torch::jit::WithInsertPoint here(sum);
    if (const auto scaled = product_for(other, sum, aliases); scaled && scaled->large == x) {
      Value* const made = insert_scaled(graph, *scaled, sum->output());
      sum->output()->replaceAllUsesWith(made);
      return sum->destroy();
    }
    Node* const shifted = other->node();
    if (!is_sum(shifted) || only_reader(other) != sum) continue;
    if (!reads_what_stays(shifted, aliases)) continue;
    const auto terms = large_and_small(shifted);
    const auto scaled = terms ? product_for(terms->large, shifted, aliases) : std::nullopt;
    if (!scaled || scaled->large != x) continue;
    Value* const made = insert_scaled(graph, *scaled, sum->output());
    return replace(graph,
                   graph.create(c10::Symbol::fromQualString("aten::add"),
                                {made, terms->small, graph.insertConstant(1)}),
                   sum);
  }
}

}  // namespace

void join_small_factors(Graph& graph) {
  torch::jit::AliasDb aliases(graph.shared_from_this());
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::mul"})) continue;
    if (constant_number(node->input(1))) {
      join_number(graph, node, aliases);
    } else if (is_product(node)) {
      join_factors(graph, node, aliases);
    }
  }
  for (Node* node : all_nodes(graph.block())) {
    if (is_sum(node)) join_terms(graph, node, aliases);
  }
  torch::jit::EliminateDeadCode(graph.block());  // what nothing reads any more
}

}  // namespace tally::graph_optimizer
