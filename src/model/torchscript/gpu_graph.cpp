#include "torchscript/gpu_graph.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
namespace {

// Of a node that runs another graph (a fork); null for all others.
torch::jit::Graph* inner_graph(const torch::jit::Node* node) {
  return node->hasAttribute(c10::attr::Subgraph) ? node->g(c10::attr::Subgraph).get() : nullptr;
}

bool lies_elsewhere(const at::Tensor& tensor, c10::Device device) {
  return tensor.defined() && tensor.device() != device;
}

std::optional<at::IValue> moved(const at::IValue& value, c10::Device device);

// The same with what lies elsewhere moved; none where nothing does.
template <class Values>
std::optional<std::vector<at::IValue>> moved_all(const Values& values, c10::Device device) {
  std::vector<at::IValue> made;
  bool is_changed = false;
  for (const at::IValue& value : values) {
    auto other = moved(value, device);
    is_changed = is_changed || other;
    made.push_back(other ? *other : value);
  }
  return is_changed ? std::optional(std::move(made)) : std::nullopt;
}

// The same constant for `device`; none where it is right as it is.
std::optional<at::IValue> moved(const at::IValue& value, c10::Device device) {
  if (value.isDevice() && value.toDevice() != device) return device;
  if (value.isTensor() && lies_elsewhere(value.toTensor(), device)) {
    return value.toTensor().to(device);
  }
  if (value.isTuple()) {
    auto elements = moved_all(value.toTupleRef().elements().vec(), device);
    if (elements) return c10::ivalue::Tuple::create(std::move(*elements));
  }
  if (value.isList()) {
    const auto list = value.toList();
    const auto elements = moved_all(list.vec(), device);
    if (!elements) return std::nullopt;
    c10::impl::GenericList made(list.elementType());
    for (const auto& element : *elements) made.push_back(element);
    return made;
  }
  return std::nullopt;
}

}  // namespace

void move_to_device(torch::jit::Graph& graph, c10::Device device) {
  for (auto* node : all_nodes(graph.block())) {
    if (auto* const inner = inner_graph(node)) move_to_device(*inner, device);
    if (is_a(node, {"aten::cpu"})) {
      node->output()->replaceAllUsesWith(node->input(0));
      node->destroy();
      continue;
    }
    if (node->kind() != torch::jit::prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    const auto other = value ? moved(*value, device) : std::nullopt;
    if (!other) continue;
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(*other));
    node->destroy();
  }
}

// aten::convolution() asks the settings and calls aten::_convolution() with them.
void obey_settings(torch::jit::Graph& graph) {
  constexpr std::size_t kNumWithoutSettings = 9;
  for (auto* node : all_nodes(graph.block())) {
    if (auto* const inner = inner_graph(node)) obey_settings(*inner);
    if (!is_a(node, {"aten::_convolution"})) continue;
    const torch::jit::WithInsertPoint here(node);
    replace(graph,
            graph.create(c10::Symbol::fromQualString("aten::convolution"),
                         node->inputs().slice(0, kNumWithoutSettings)),
            node);
  }
}

}  // namespace tally::model
