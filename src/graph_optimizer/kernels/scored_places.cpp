// SPDX-License-Identifier: Apache-2.0
#include <tally/graph_optimizer/scored_places.hpp>

#include <optional>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>

#include "kernels/operator_registration.hpp"
#include "onednn/linear_layers.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using Bias = std::optional<at::Tensor>;

constexpr const char* kLinear = "tally::linear_at_places";

thread_local at::Tensor places_of_thread;

at::Tensor linear_at_places(const at::Tensor& input, const at::Tensor& weight, const Bias& bias) {
  const at::Tensor& places = places_of_thread;
  const bool fits = places.defined() && input.dim() == 3 && places.dim() == 2 &&
                    places.size(0) == input.size(0) && places.size(1) == input.size(1);
  if (!fits) return linear_by_onednn(input, weight, bias);
  const auto wanted = places.flatten().nonzero().flatten();
  auto scores = at::empty({input.size(0), input.size(1), weight.size(0)}, input.options());
  if (wanted.numel() == 0) return scores;
  const auto rows = input.flatten(0, 1).index_select(0, wanted);
  scores.flatten(0, 1).index_copy_(0, wanted, linear_by_onednn(rows, weight, bias));
  return scores;
}

// The first call makes the operator known, until the process ends.
void register_once() {
  static const auto library = [] {
    auto made = own_operators();
    made.def("linear_at_places(Tensor input, Tensor weight, Tensor? bias) -> Tensor",
             &linear_at_places);
    return made;
  }();
}

}  // namespace

bool score_at_places(torch::jit::Graph& graph) {
  if (graph.outputs().size() != 1) return false;
  torch::jit::Node* const last = graph.outputs()[0]->node();
  const bool is_it = is_a(last, {"aten::linear"}) && last->inputs().size() == 3 &&
                     constant(last, "weight").isTensor() &&
                     is_tensor_or_none(last->namedInput("bias")) &&
                     last->output()->uses().size() == 1;
  if (!is_it) return false;
  register_once();
  const torch::jit::WithInsertPoint here(last);
  replace(graph, graph.create(c10::Symbol::fromQualString(kLinear), last->inputs()), last);
  return true;
}

ScoredPlaces::ScoredPlaces(at::Tensor places) { places_of_thread = std::move(places); }
ScoredPlaces::~ScoredPlaces() { places_of_thread.reset(); }

}  // namespace tally::graph_optimizer
