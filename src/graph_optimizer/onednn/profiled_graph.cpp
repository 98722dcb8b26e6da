// SPDX-License-Identifier: Apache-2.0
#include "onednn/profiled_graph.hpp"

#include <utility>

#include <torch/csrc/jit/passes/remove_mutation.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/profiling_record.h>

#include <tally/base/activity.hpp>

#include "onednn/copies_for_layout.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

// Those that LibTorch's oneDNN fuser would make new values of, whose strides it would not know.
constexpr Kinds kWriters{
    "aten::add_",   "aten::mul_",       "aten::tanh_", "aten::elu_",         "aten::relu_",
    "aten::relu6_", "aten::gelu_",      "aten::sqrt_", "aten::sigmoid_",     "aten::hardtanh_",
    "aten::abs_",   "aten::square_",    "aten::pow_",  "aten::leaky_relu_",  "aten::round_",
    "aten::exp_",   "aten::hardswish_", "aten::silu_", "aten::hardsigmoid_", "aten::clamp_"};

}  // namespace

Profile profile_shapes(torch::jit::Graph& graph, torch::jit::Stack inputs) {
  auto plain = graph.copy();
  // These go before the run, so that its types and strides are those of the graph that is compiled.
  torch::jit::RemoveTensorMutation(plain, [](const auto* node) { return is_a(node, kWriters); });
  torch::jit::RemoveListMutation(plain);
  const int num_dropped_copies = drop_copies_before_convolutions(*plain);
  const auto record = torch::jit::ProfilingRecord::instrumentGraph(plain);
  auto scores = run_code(torch::jit::Code(record->profiled_graph_, "forward"), std::move(inputs));
  auto profiled = record->graph()->copy();
  torch::jit::ProfilingRecord::removeProfileCounter(profiled->block());
  torch::jit::RemoveProfileNodesAndSpecializeTypes(profiled);
  return {std::move(profiled), std::move(scores), num_dropped_copies};
}

std::optional<std::vector<std::int64_t>> sizes_of(const torch::jit::Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  if (!type) return std::nullopt;
  const auto sizes = type->sizes().concrete_sizes();
  return sizes ? std::optional(*sizes) : std::nullopt;
}

std::optional<at::ScalarType> type_of(const torch::jit::Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type ? type->scalarType() : std::nullopt;
}

std::optional<std::vector<std::int64_t>> strides_of(const torch::jit::Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type ? type->strides().concrete_sizes() : std::nullopt;
}

bool is_dense(const torch::jit::Value* value) {
  const auto sizes = sizes_of(value);
  const auto strides = strides_of(value);
  if (!sizes || !strides) return true;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) last += (sizes->at(i) - 1) * strides->at(i);
  return last + 1 == c10::multiply_integers(*sizes);
}

c10::IValue run_code(const torch::jit::Code& code, torch::jit::Stack inputs) {
  torch::jit::InterpreterState(code).run(inputs);
  made_progress();  // many such runs make one warm-up
  // The interpreter leaves the results on the stack. Several of them are what forward() returns as
  // a tuple.
  if (inputs.size() == 1) return std::move(inputs.front());
  return c10::ivalue::Tuple::create(std::move(inputs));
}

}  // namespace tally::graph_optimizer
