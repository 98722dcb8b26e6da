// SPDX-License-Identifier: Apache-2.0
// What is changed in a frozen graph for a GPU, on a machine without one: the device is "meta".
#include "gpu_module.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/serialization/import.h>

#include "passes/jit_graph.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

const c10::Device kMeta(c10::kMeta);

torch::jit::Module traced_on_cpu() {
  return torch::jit::freeze_module(
      torch::jit::load(TALLY_MODEL_FIXTURES "/traced_on_cpu.pt", c10::kCPU));
}

bool is_on_cpu(const at::IValue& value) {
  if (value.isDevice()) return value.toDevice().is_cpu();
  if (value.isTensor()) return value.toTensor().defined() && value.toTensor().is_cpu();
  return value.isList() && std::ranges::any_of(value.toList().vec(), is_on_cpu);
}

std::int64_t num_constants_on_cpu(const torch::jit::Module& module) {
  return std::ranges::count_if(all_nodes(module.get_method("forward").graph()->block()),
                               [](const torch::jit::Node* node) {
                                 if (node->kind() != torch::jit::prim::Constant) return false;
                                 const auto value = torch::jit::toIValue(node->output());
                                 return value && is_on_cpu(*value);
                               });
}

std::int64_t num_of(const torch::jit::Module& module, const char* kind) {
  return std::ranges::count_if(all_nodes(module.get_method("forward").graph()->block()),
                               [&](const torch::jit::Node* node) { return is_a(node, {kind}); });
}

void move_to_meta(const torch::jit::Module& module) {
  move_to_device(*module.get_method("forward").graph(), kMeta);
}

TEST(MoveToDeviceTest, LeavesNoConstantOfATracedNetworkOnTheCpu) {
  auto module = traced_on_cpu();
  ASSERT_GT(num_constants_on_cpu(module), 10);
  move_to_meta(module);
  EXPECT_EQ(num_constants_on_cpu(module), 0);
}

TEST(MoveToDeviceTest, ReachesIntoBranches) {
  auto module = frozen_net({{"w", at::ones({3})}}, R"(
def forward(self, x, plain: bool):
  if plain:
    y = x.to(torch.device("cpu")) + torch.arange(3, device=torch.device("cpu"))
  else:
    y = torch.zeros([x.size(0), 3], device=torch.device("cpu")) + self.w
  return y
)");
  ASSERT_GT(num_constants_on_cpu(module), 0);
  move_to_meta(module);
  EXPECT_EQ(num_constants_on_cpu(module), 0);
  for (const bool plain : {true, false}) {  // tensors of two devices would be refused
    EXPECT_EQ(module.forward({at::ones({2, 3}).to(kMeta), plain}).toTensor().device(), kMeta);
  }
}

TEST(MoveToDeviceTest, TakesOutCopiesToTheCpu) {
  auto module = frozen_net({{"w", at::ones({3})}}, R"(
def forward(self, x):
  return x.cpu() + self.w
)");
  move_to_meta(module);
  EXPECT_EQ(module.forward({at::ones({2, 3}).to(kMeta)}).toTensor().device(), kMeta);
}

TEST(MoveToDeviceTest, ChangesNothingThatIsThereAlready) {
  auto module = traced_on_cpu();
  const auto graph = module.get_method("forward").graph();
  const auto before = graph->toString();
  move_to_device(*graph, c10::kCPU);
  EXPECT_EQ(graph->toString(), before);
}

TEST(ObeySettingsTest, LeavesNoConvolutionWithSettingsOfItsOwn) {
  auto module = traced_on_cpu();
  const std::vector<at::IValue> inputs{at::randn({2, 3, 12, 12})};
  const auto before = module.forward(inputs).toTensor();
  ASSERT_EQ(num_of(module, "aten::_convolution"), 6);
  obey_settings(*module.get_method("forward").graph());
  EXPECT_EQ(num_of(module, "aten::_convolution"), 0);
  EXPECT_EQ(num_of(module, "aten::convolution"), 6);
  EXPECT_TRUE(at::equal(run_graph(module, inputs.front().toTensor()), before));
}

}  // namespace
}  // namespace tally::graph_optimizer
