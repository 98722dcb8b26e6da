// SPDX-License-Identifier: Apache-2.0
// Convolutions that take over what follows them. On the CPU the operator computes what the chain
// did, so that its place in the graph shows in equal bits.
#include "passes/fused_convolutions.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/passes/frozen_graph_optimizations.h>

#include "gpu_module.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

using testing::HasSubstr;
using testing::Not;

class FuseConvolutionsTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }

  // Fuses in a network of three convolutions, w1 and w2 of 3 x 3, w3 of 1 x 1; its scores must stay
  // as they are. Returns how many.
  int num_fused(const std::string& forward) {
    module_ = frozen_net({{"w1", at::randn({8, 8, 3, 3})},
                          {"w2", at::randn({8, 8, 3, 3})},
                          {"w3", at::randn({8, 8, 1, 1})},
                          {"b", at::randn({8})}},
                         forward);
    const auto x = at::randn({3, 8, 9, 9});
    const auto before = module_.forward({x.clone()}).toTensor();
    const auto graph = module_.get_method("forward").graph();
    const int found = fuse_convolutions(*graph);
    text_ = graph->toString();
    const auto after = run_graph(module_, x.clone());
    EXPECT_TRUE(at::allclose(after, before, tolerance_, tolerance_)) << text_;
    return found;
  }

  torch::jit::Module module_{"none"};
  std::string text_;
  double tolerance_ = 0;
};

TEST_F(FuseConvolutionsTest, ABlockOfAResidualNetworkIsTwoCalls) {
  const auto fused = num_fused(R"(
def forward(self, x):
  y = torch.relu_(torch.conv2d(x, self.w1, self.b, [1, 1], [1, 1]))
  y = torch.conv2d(y, self.w2, self.b, [1, 1], [1, 1])
  y = y.add_(x)
  return torch.relu_(y)
)");
  EXPECT_EQ(fused, 2);
  EXPECT_THAT(text_, HasSubstr("tally::convolution_relu("));
  EXPECT_THAT(text_, HasSubstr("tally::convolution_add_relu("));
  EXPECT_THAT(text_, Not(HasSubstr("aten::")));
}

TEST_F(FuseConvolutionsTest, WithoutABiasAndWithStridesItIsTheSame) {
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  y = torch.relu(torch.conv2d(x, self.w1, None, [2, 1], [0, 1], [1, 2]))
  return torch.relu(torch.conv2d(y, self.w3) + 1.5 * y)
)"),
            2);
}

// Whose biases are added before: the last bits may differ.
TEST_F(FuseConvolutionsTest, OfTwoConvolutionsThatAreAddedOneTakesSumAndBiases) {
  tolerance_ = 1e-5;
  for (const auto* biases : {"self.b", "None"}) {
    EXPECT_EQ(num_fused(std::string(R"(
def forward(self, x):
  y = torch.conv2d(x, self.w1, )") +
                        biases + R"(, [1, 1], [1, 1])
  return torch.relu(y + torch.conv2d(x, self.w3, self.b))
)"),
              1);
    for (auto* node : module_.get_method("forward").graph()->nodes()) {
      if (!is_a(node, {"aten::conv2d"})) continue;
      EXPECT_TRUE(is_none(node->namedInput("bias")));
    }
  }
}

TEST_F(FuseConvolutionsTest, ABiasThatIsNeededElsewhereStays) {
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  z = torch.conv2d(x, self.w3, self.b)
  return torch.relu(torch.conv2d(x, self.w1, self.b, [1, 1], [1, 1]) + z) * z
)"),
            1);
}

TEST_F(FuseConvolutionsTest, ASumThatRepeatsItsOtherSideIsRight) {
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  return torch.relu(torch.conv2d(x, self.w3, self.b) + x.mean([2, 3], True))
)"),
            1);
}

TEST_F(FuseConvolutionsTest, WhatIsReadAgainStays) {
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  y = torch.conv2d(x, self.w3, self.b)
  z = torch.conv2d(x, self.w1, self.b, [1, 1], [1, 1]) + x
  return torch.relu(y) + torch.relu(z) + y + z
)"),
            0);
}

TEST_F(FuseConvolutionsTest, WhatIsWrittenOverInBetweenIsReadAsItWas) {
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  x = x * 2
  y = torch.conv2d(x, self.w3, self.b)
  x.mul_(3)
  return torch.relu(y + x)
)"),
            0);
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  x = x * 2
  y = torch.conv2d(x, self.w3, self.b) + x
  x.mul_(3)
  return torch.relu(y) + x
)"),
            1)
      << "what writes can wait";
}

// The write can wait until after the sum, but not until after the ReLU.
TEST_F(FuseConvolutionsTest, WhatIsWrittenOverBetweenSumAndReluIsReadAsItWas) {
  num_fused(R"(
def forward(self, x):
  x = x * 2
  z = 1.5 * x
  y = torch.conv2d(x, self.w3, self.b) + z
  x.mul_(3)
  return torch.relu(y) + x
)");
}

TEST_F(FuseConvolutionsTest, ASumKeepsTheTypeThatItIsWrittenOver) {
  const auto forward = [](const char* sum) {
    return std::string(R"(
def forward(self, x):
  z = (x * 0.37).double()
  y = torch.conv2d(x, self.w3, self.b)
  return torch.relu()") +
           sum + R"()
)";
  };
  EXPECT_EQ(num_fused(forward("y.add_(z)")), 1);
  EXPECT_EQ(num_fused(forward("y + z")), 1);
}

TEST_F(FuseConvolutionsTest, ASumThatIsWrittenOverItsOtherSideStays) {
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  x = x * 2
  y = torch.relu_(x.add_(torch.conv2d(x, self.w3, self.b)))
  return y + x
)"),
            0);
}

TEST_F(FuseConvolutionsTest, OtherFactorsGroupsAndDimensionsStay) {
  EXPECT_EQ(num_fused(R"(
def forward(self, x):
  y = torch.relu(torch.add(torch.conv2d(x, self.w3, self.b), x, alpha=2))
  y = torch.relu(torch.conv2d(y, self.w3[:, :1], self.b, [1, 1], [0, 0], [1, 1], 8))
  y = torch.relu(torch.conv1d(y[:, :, 0], self.w3[:, :, 0], self.b))
  return torch.relu(torch.conv_transpose2d(x, self.w3, self.b)) + y[:, :, None]
)"),
            0);
}

// Windows of odd and even sizes, images that end within a square, one channel and more.
TEST(ConvolutionOfSquaresTest, IsTheConvolutionOfStepTwo) {
  at::manual_seed(1);
  for (const auto& [channels, window, padding] :
       std::vector<std::array<std::int64_t, 3>>{{3, 7, 3}, {3, 3, 1}, {1, 4, 0}, {4, 5, 2}}) {
    const auto weight = at::randn({8, channels, window, window}).to(at::kBFloat16);
    const auto bias = at::randn({8}).to(at::kBFloat16);
    auto module =
        frozen_net({{"w", weight}, {"b", bias}}, c10::str(R"(
def forward(self, x):
  return torch.relu(torch.conv2d(x, self.w, self.b, [2, 2], [)",
                                                          padding, ", ", padding, "]))\n"));
    const auto graph = module.get_method("forward").graph();
    ASSERT_EQ(fuse_convolutions(*graph), 1);
    ASSERT_THAT(graph->toString(), HasSubstr("convolution_relu_of_squares"));
    for (const std::int64_t height : {11, 12}) {
      const auto x = at::randn({2, channels, height, 17}).to(at::kBFloat16);
      const auto found = run_graph(module, x).to(at::kFloat);
      const auto exact = at::relu(at::conv2d(x.to(at::kFloat), weight.to(at::kFloat),
                                             bias.to(at::kFloat), {2, 2}, {padding, padding}));
      ASSERT_EQ(found.sizes(), exact.sizes());
      const auto largest = exact.max().item<float>();
      EXPECT_LT((found - exact).abs().max().item<float>(), 0.01f * largest);
    }
  }
}

// As on a GPU, but for the device.
class GpuModuleTest : public testing::Test {
 protected:
  static GpuModule made(torch::jit::Module module, bool may_fuse) {
    return {std::move(module), in_order, "net", c10::kCPU, may_fuse};
  }
};

TEST_F(GpuModuleTest, KeepsWhatGivesTheSameScores) {
  const auto weight = at::randn({8, 8, 3, 3});
  const auto net = [&] {
    return frozen_net({{"w", weight}}, R"(
def forward(self, x):
  return torch.max_pool2d(torch.relu(torch.conv2d(x, self.w)), [2, 2])
)");
  };
  const auto x = at::randn({35, 8, 5, 5});
  const auto plain = net().forward({x}).toTensor();
  for (const bool may_fuse : {true, false}) {
    auto on_gpu = made(net(), may_fuse);
    EXPECT_EQ(on_gpu.form(), "") << "nothing has run";
    EXPECT_TRUE(at::equal(on_gpu.run({x}).toTensor(), plain));
    EXPECT_EQ(on_gpu.form(), may_fuse ? "convolutions fused by cuDNN, pools without indices" : "");
    EXPECT_TRUE(on_gpu.notes().empty());
  }
}

TEST_F(GpuModuleTest, RunsPlainlyWhereRanksDiffer) {
  const auto module = frozen_net({{"w", at::randn({8, 8, 3, 3})}}, R"(
def forward(self, x):
  return torch.relu(torch.conv2d(x, self.w))
)");
  auto on_gpu = made(module, true);
  const auto x = at::randn({2, 8, 5, 5});
  const auto fused = on_gpu.warm_up({x}).toTensor();
  EXPECT_NE(on_gpu.form(), "");
  on_gpu.use_kernels(CpuKernels::torch);
  EXPECT_TRUE(at::equal(on_gpu.warm_up({x}).toTensor(), fused)) << "the same bits on the CPU";
  EXPECT_EQ(on_gpu.form(), "");
}

// LibTorch keeps the functions of a module as long as any that it was made from.
TEST_F(GpuModuleTest, LeavesNoWeightsBehind) {
  const auto weight = at::randn({8, 8, 3, 3});
  torch::jit::Module original("net");
  original.register_attribute("training", c10::BoolType::get(), false);
  original.register_attribute("w", c10::TensorType::get(), weight);
  original.define(R"(
def forward(self, x):
  return torch.relu(torch.conv2d(x, self.w))
)");
  const auto before = weight.use_count();
  {
    auto on_gpu = made(torch::jit::freeze_module(original), true);
    on_gpu.run({at::randn({2, 8, 5, 5})});
    EXPECT_GT(weight.use_count(), before);
  }
  EXPECT_EQ(weight.use_count(), before);
}

TEST_F(GpuModuleTest, NanAndNumbersStayWhatTheyAre) {
  EXPECT_NO_THROW(check_keeps_nan(c10::kCPU, at::kFloat));
}

// A network that draws numbers gives other scores the second time.
TEST_F(GpuModuleTest, LeavesOutWhatGivesOtherScores) {
  auto module = frozen_net({{"w", at::randn({8, 8, 3, 3})}}, R"(
def forward(self, x):
  return torch.relu(torch.conv2d(x, self.w)) + torch.rand([1])
)");
  const auto x = at::randn({2, 8, 5, 5});
  auto on_gpu = made(module, true);
  EXPECT_EQ(on_gpu.warm_up({x}).toTensor().sizes(), at::IntArrayRef({2, 8, 3, 3}));
  EXPECT_EQ(on_gpu.form(), "");
  EXPECT_THAT(on_gpu.notes(), testing::ElementsAre(HasSubstr("runs without convolutions fused")));
}

}  // namespace
}  // namespace tally::graph_optimizer
