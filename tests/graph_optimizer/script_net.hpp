// SPDX-License-Identifier: Apache-2.0
// Small frozen networks, written down as TorchScript.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include "onednn/profiled_graph.hpp"

namespace tally::graph_optimizer {

using NamedWeights = std::vector<std::pair<std::string, at::Tensor>>;

inline torch::jit::Module frozen_net(const NamedWeights& weights, const std::string& forward) {
  torch::jit::Module module("net");
  module.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& [name, tensor] : weights) {
    module.register_attribute(name, c10::TensorType::get(), tensor);
  }
  module.define(forward);
  return torch::jit::freeze_module(module);
}

// The inputs as forward() names them (StackOf).
inline torch::jit::Stack in_order(const torch::jit::Module& module,
                                  const std::vector<at::Tensor>& inputs) {
  torch::jit::Stack stack{module._ivalue()};
  stack.insert(stack.end(), inputs.begin(), inputs.end());
  return stack;
}

// By the graph as it is now: forward() goes on with the one that it ran first.
inline at::Tensor run_graph(const torch::jit::Module& module, const at::Tensor& x) {
  const torch::jit::Code code(module.get_method("forward").graph(), "forward");
  return run_code(code, {module._ivalue(), x}).toTensor();
}

}  // namespace tally::graph_optimizer
