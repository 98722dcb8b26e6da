// SPDX-License-Identifier: Apache-2.0
#include "onednn/nan_propagating_relu.hpp"

#include <algorithm>
#include <unordered_set>

#include "kernels/pool_without_indices.hpp"
#include "kernels/winograd_pass.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Seen = std::unordered_set<const Value*>;

constexpr Kinds kLayersWithBias{"aten::_convolution", "aten::conv2d", "aten::linear",
                                "aten::addmm",        kWinograd,      kWinogradSum};
constexpr Kinds kNorms{"aten::batch_norm", "aten::layer_norm"};
// Beside what they give for 0, a tiny number changes nothing.
constexpr Kinds kGates{"aten::sigmoid", "aten::hardsigmoid"};
// A tiny share of what they are given is tiny in what they give.
constexpr Kinds kPassing{kMaxPool,           "aten::avg_pool2d", "aten::adaptive_avg_pool2d",
                         "aten::mean",       "aten::flatten",    "aten::reshape",
                         "aten::view",       "aten::permute",    "aten::transpose",
                         "aten::contiguous", "aten::cat",        "prim::ListConstruct",
                         "aten::chunk",      "aten::slice",      "aten::select",
                         "aten::dropout",    "aten::relu",       "aten::leaky_relu",
                         "aten::hardswish",  "aten::silu",       "aten::gelu",
                         "aten::add",        "aten::mul"};

bool is_firm(const at::IValue& bias) {
  constexpr double kLeastBias = 1e-10;
  return bias.isTensor() && bias.toTensor().abs().gt(kLeastBias).all().item<bool>();
}

// Whether the layer adds to every sum a constant beside which 1e-20 vanishes.
bool has_firm_bias(const Node* layer) {
  if (is_a(layer, {"aten::addmm"})) {
    const auto beta = constant(layer, "beta");
    return beta.isScalar() && beta.toScalar().toDouble() == 1 && is_firm(constant(layer, "self"));
  }
  return (is_a(layer, kLayersWithBias) || is_a(layer, kNorms)) && is_firm(constant(layer, "bias"));
}

bool vanishes(const Value* value, Seen& seen) {
  return std::ranges::all_of(value->uses(), [&](const torch::jit::Use& use) {
    if (is_a(use.user, kGates) || has_firm_bias(use.user)) return true;
    const bool passes_on = is_a(use.user, kLayersWithBias) || is_a(use.user, kPassing);
    if (!passes_on || use.user->outputs().size() != 1) return false;
    const Value* next = use.user->output();
    return !seen.insert(next).second || vanishes(next, seen);
  });
}

}  // namespace

bool tiny_numbers_vanish(const Value* value) {
  Seen seen;
  return vanishes(value, seen);
}

}  // namespace tally::graph_optimizer
