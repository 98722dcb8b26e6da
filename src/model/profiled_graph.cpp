#include "profiled_graph.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <torch/csrc/jit/passes/remove_mutation.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/profiling_record.h>

#include "graph_edit.hpp"

namespace tally::model {
namespace {

// Those that LibTorch's oneDNN fuser would make new values of, whose strides it would not know.
constexpr Kinds kWriters{
    "aten::add_",   "aten::mul_",       "aten::tanh_", "aten::elu_",         "aten::relu_",
    "aten::relu6_", "aten::gelu_",      "aten::sqrt_", "aten::sigmoid_",     "aten::hardtanh_",
    "aten::abs_",   "aten::square_",    "aten::pow_",  "aten::leaky_relu_",  "aten::round_",
    "aten::exp_",   "aten::hardswish_", "aten::silu_", "aten::hardsigmoid_", "aten::clamp_"};

std::vector<torch::jit::Value*> values_of(torch::jit::Graph& graph) {
  std::vector<torch::jit::Value*> values = graph.inputs().vec();
  for (auto* node : all_nodes(graph.block())) {
    const auto outputs = node->outputs();
    values.insert(values.end(), outputs.begin(), outputs.end());
  }
  return values;
}

std::vector<std::int64_t> extrapolate(const std::vector<std::int64_t>& of_two,
                                      const std::vector<std::int64_t>& of_three,
                                      std::int64_t batch_size) {
  auto numbers = of_two;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] += (of_three[i] - of_two[i]) * (batch_size - 2);
  }
  return numbers;
}

// Whether the numbers lie beside each other without gaps, in whatever order of the dimensions.
bool is_dense(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1) dimensions.emplace_back(strides[i], sizes[i]);
  }
  std::ranges::sort(dimensions);
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dimensions) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

// None where one of both is not known, or they have other dimensions.
c10::TensorTypePtr extrapolate(const c10::TypePtr& of_two, const c10::TypePtr& of_three,
                               std::int64_t batch_size) {
  const auto two = of_two->cast<c10::TensorType>();
  const auto three = of_three->cast<c10::TensorType>();
  if (!two || !three) return nullptr;
  const auto sizes = std::pair(two->sizes().concrete_sizes(), three->sizes().concrete_sizes());
  const auto strides =
      std::pair(two->strides().concrete_sizes(), three->strides().concrete_sizes());
  if (!sizes.first || !sizes.second || !strides.first || !strides.second) return nullptr;
  if (sizes.first->size() != sizes.second->size()) return nullptr;
  const auto new_sizes = extrapolate(*sizes.first, *sizes.second, batch_size);
  const auto new_strides = extrapolate(*strides.first, *strides.second, batch_size);
  if (is_dense(*sizes.second, *strides.second) != is_dense(new_sizes, new_strides)) {
    throw std::runtime_error("its shapes do not grow with the batch by even steps");
  }
  return three->withSizesStrides(new_sizes, new_strides);
}

}  // namespace

std::shared_ptr<torch::jit::Graph> extrapolate(torch::jit::Graph& of_two,
                                               torch::jit::Graph& of_three,
                                               std::int64_t batch_size) {
  auto graph = of_three.copy();
  const auto two = values_of(of_two);
  const auto three = values_of(*graph);
  if (two.size() != three.size()) throw std::runtime_error("it runs otherwise for other batches");
  for (std::size_t i = 0; i < two.size(); ++i) {
    if (const auto type = extrapolate(two[i]->type(), three[i]->type(), batch_size)) {
      three[i]->setType(type);
    }
  }
  return graph;
}

std::shared_ptr<torch::jit::Graph> profile_shapes(torch::jit::Graph& graph,
                                                  torch::jit::Stack inputs) {
  auto plain = graph.copy();
  torch::jit::RemoveTensorMutation(plain, [](const auto* node) { return is_a(node, kWriters); });
  torch::jit::RemoveListMutation(plain);
  const auto record = torch::jit::ProfilingRecord::instrumentGraph(plain);
  run_code(torch::jit::Code(record->profiled_graph_, "forward"), std::move(inputs));
  auto profiled = record->graph()->copy();
  torch::jit::ProfilingRecord::removeProfileCounter(profiled->block());
  torch::jit::RemoveProfileNodesAndSpecializeTypes(profiled);
  return profiled;
}

std::optional<std::vector<std::int64_t>> sizes_of(const torch::jit::Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  if (!type) return std::nullopt;
  const auto sizes = type->sizes().concrete_sizes();
  return sizes ? std::optional(*sizes) : std::nullopt;
}

c10::IValue run_code(const torch::jit::Code& code, torch::jit::Stack inputs) {
  torch::jit::InterpreterState(code).run(inputs);
  if (inputs.size() == 1) return std::move(inputs.front());
  return c10::ivalue::Tuple::create(std::move(inputs));
}

}  // namespace tally::model
