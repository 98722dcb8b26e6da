// Small frozen networks, written down as TorchScript.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/freeze_module.h>

namespace tally::model {

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

}  // namespace tally::model
