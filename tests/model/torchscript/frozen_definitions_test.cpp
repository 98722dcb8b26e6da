// SPDX-License-Identifier: Apache-2.0
#include "torchscript/frozen_definitions.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <ATen/ops/ones.h>

namespace tally::model {
namespace {

torch::jit::Module net() {
  torch::jit::Module layer("Layer");
  layer.register_parameter("weight", at::ones({3}), false);
  layer.define("def forward(self, x):\n  return x * self.weight\n");
  torch::jit::Module module("Net");
  module.register_module("layer", layer);
  module.define("def forward(self, x):\n  return self.layer.forward(x) + 1\n");
  module.eval();
  return module;
}

auto num_functions(const torch::jit::Module& module) {
  const auto functions = module._ivalue()->compilation_unit()->get_functions();
  return std::ranges::count_if(functions, [](const auto* found) { return found != nullptr; });
}

TEST(FrozenDefinitions, GoWithTheFrozenCopy) {
  auto module = net();
  const auto num_before = num_functions(module);
  for (int i = 0; i < 3; ++i) {
    torch::jit::Module frozen("frozen");
    const FrozenDefinitions definitions(module, frozen);
    EXPECT_GT(num_functions(module), num_before);
    EXPECT_EQ(frozen.forward({at::ones({3})}).toTensor().sum().item<float>(), 6.0F);
  }
  EXPECT_EQ(num_functions(module), num_before);
  EXPECT_EQ(module.forward({at::ones({3})}).toTensor().sum().item<float>(), 6.0F);
}

TEST(FrozenDefinitions, AnotherCopyKeepsItsOwn) {
  auto module = net();
  torch::jit::Module first("frozen"), second("frozen");
  auto of_first = std::make_unique<FrozenDefinitions>(module, first);
  const FrozenDefinitions of_second(module, second);
  of_first.reset();
  EXPECT_EQ(second.forward({at::ones({3})}).toTensor().sum().item<float>(), 6.0F);
}

}  // namespace
}  // namespace tally::model
