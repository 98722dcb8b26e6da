#include "gpu_graph.hpp"

#include <algorithm>
#include <optional>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/graph_rewrite_helper.h>

#include "graph_edit.hpp"

namespace tally::model {
namespace {

bool lies_elsewhere(const at::Tensor& tensor, c10::Device device) {
  return tensor.defined() && tensor.device() != device;
}

// The same constant for `device`; none where it is right as it is.
std::optional<at::IValue> moved(const at::IValue& value, c10::Device device) {
  if (value.isDevice() && value.toDevice() != device) return device;
  if (value.isTensor() && lies_elsewhere(value.toTensor(), device)) {
    return value.toTensor().to(device);
  }
  if (!value.isTensorList()) return std::nullopt;
  auto list = value.toTensorVector();
  const auto elsewhere = [&](const at::Tensor& tensor) { return lies_elsewhere(tensor, device); };
  if (std::ranges::none_of(list, elsewhere)) return std::nullopt;
  for (auto& tensor : list) tensor = tensor.to(device);
  return list;
}

}  // namespace

void move_to_device(torch::jit::Graph& graph, c10::Device device) {
  for (auto* node : all_nodes(graph.block())) {
    if (node->kind() != torch::jit::prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    const auto other = value ? moved(*value, device) : std::nullopt;
    if (!other) continue;
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(*other));
    node->destroy();
  }
}

void obey_settings(std::shared_ptr<torch::jit::Graph>& graph) {
  torch::jit::graph_rewrite_helper::replaceConvolutionWithAtenConv(graph);
}

}  // namespace tally::model
