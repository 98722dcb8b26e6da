// SPDX-License-Identifier: Apache-2.0
// Bounds of what values in a network can be, by hand, for inputs of at most 10000.
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "kernels/winograd.hpp"
#include "kernels/winograd_pass.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/value_bounds.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNanNumber = std::numeric_limits<double>::quiet_NaN();

NamedWeights weights(at::ScalarType type = at::kFloat) {
  const auto ones = [](at::IntArrayRef size) { return at::ones(size); };
  NamedWeights named{{"w", at::tensor({1., -2., 3., 0.5}).reshape({2, 2})},
                     {"b", at::tensor({0.5, -1.})},
                     {"conv", ones({2, 2, 3, 3})},
                     {"depthwise", ones({2, 1, 3, 3})},
                     {"mean", at::tensor({1., -3.})},
                     {"var", at::tensor({4., 0.25})},
                     {"zeros", at::zeros({2})},
                     {"negative", at::tensor({1., -1.})},
                     {"nan", at::tensor({1., kNanNumber})},
                     {"infinite", at::tensor({1., -2., 3., kInfinity}).reshape({2, 2})}};
  for (auto& [name, tensor] : named) tensor = tensor.to(type);
  return named;
}

std::shared_ptr<torch::jit::Graph> profiled(const torch::jit::Module& net, const at::Tensor& x) {
  const c10::InferenceMode guard;
  return profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), x}).graph;
}

double bound_of(const std::string& y, const at::Tensor& x) {
  // Profiles show only what certain operators read, as the one of the second result does.
  const auto forward = "def forward(self, x):\n    y = " + y + "\n    return y, torch.relu(x)\n";
  const auto graph = profiled(
      frozen_net(weights(x.is_floating_point() ? x.scalar_type() : at::kHalf), forward), x);
  return ValueBounds(*graph).of(graph->outputs().front()->node()->input(0));
}

double bound_of(const std::string& y) { return bound_of(y, at::ones({2, 2, 2, 2})); }

TEST(ValueBoundsTest, LayersMultiplyByTheirWeights) {
  EXPECT_EQ(bound_of("torch.linear(x, self.w, self.b)"), 35001);
  EXPECT_EQ(bound_of("torch.linear(x, self.w)"), 35000);
  EXPECT_EQ(bound_of("torch.addmm(self.b, x.reshape([8, 2]), self.w)"), 40001);
  EXPECT_EQ(bound_of("torch.addmm(self.b, x.reshape([8, 2]), self.w, beta=2, alpha=-3)"), 120002);
  EXPECT_EQ(bound_of("torch.conv2d(x, self.conv, self.b, [1, 1], [1, 1])"), 180001);
  EXPECT_EQ(bound_of("torch.conv2d(x, self.depthwise, None, [1, 1], [1, 1], [1, 1], 2)"), 90000);
  EXPECT_EQ(bound_of("torch.conv_transpose2d(x, self.conv)"), kInfinity);
  EXPECT_EQ(bound_of("torch.linear(x, torch.exp(x[0, 0]))"), kInfinity);
}

TEST(ValueBoundsTest, WeightsThatAreNotFiniteLeaveNothingKnown) {
  EXPECT_EQ(bound_of("torch.linear(x, self.infinite, self.b)"), kInfinity);
  EXPECT_EQ(bound_of("torch.linear(x, self.w, self.nan)"), kInfinity);
  EXPECT_EQ(bound_of("torch.linear(x * 0, self.infinite)"), kInfinity);
  EXPECT_EQ(bound_of("x + self.nan"), kInfinity);
  EXPECT_EQ(bound_of("torch.clamp(x, 0., float('nan'))"), kInfinity);
  EXPECT_EQ(bound_of("torch.batch_norm(x, self.nan, self.b, self.mean, self.var, False, 0., 0., "
                     "False)"),
            kInfinity);
}

TEST(ValueBoundsTest, NormalisationIsByItsStatistics) {
  const auto norm = [](const std::string& arguments) {
    return bound_of("torch.batch_norm(x, " + arguments + ", 0.1, 0., False)");
  };
  EXPECT_EQ(norm("self.w[0], self.b, self.mean, self.var, False"), 4 * 10003. + 1);
  EXPECT_EQ(norm("None, None, self.mean, self.var, False"), 2 * 10003.);
  EXPECT_EQ(norm("None, None, self.mean, self.zeros, False"), kInfinity);
  EXPECT_EQ(norm("None, None, self.mean, self.negative, False"), kInfinity);
  EXPECT_EQ(norm("None, None, None, None, True"), kInfinity);
}

TEST(ValueBoundsTest, ClampsBoundWhatIsFinite) {
  EXPECT_EQ(bound_of("torch.relu6(x)"), 6);
  EXPECT_EQ(bound_of("torch.hardtanh(x, -8., 2.)"), 8);
  EXPECT_EQ(bound_of("torch.clamp(x, -1, 3)"), 3);
  EXPECT_EQ(bound_of("torch.clamp(x, None, 3)"), kInfinity);
  EXPECT_EQ(bound_of("torch.relu6(torch.exp(x))"), kInfinity);
  EXPECT_EQ(bound_of("torch.sigmoid(torch.exp(x))"), kInfinity);
}

TEST(ValueBoundsTest, MuchIsNoLargerThanItsInput) {
  for (const char* y : {"torch.relu(x)",
                        "torch.leaky_relu(x, 0.1)",
                        "torch.hardswish(x)",
                        "torch.silu(x)",
                        "torch.gelu(x)",
                        "torch.dropout(x, 0.5, False)",
                        "torch.max_pool2d(x, [2, 2])",
                        "torch.avg_pool2d(x, [2, 2])",
                        "torch.adaptive_avg_pool2d(x, [1, 1])",
                        "torch.mean(x, [2, 3])",
                        "torch.flatten(x, 1)",
                        "x.reshape([4, 4])",
                        "x.view([4, 4])",
                        "x.permute([0, 2, 3, 1])",
                        "x.transpose(1, 2)",
                        "x.transpose(1, 2).contiguous()",
                        "torch.cat(torch.chunk(x, 2, 1))",
                        "x\n    _, y = torch.chunk(x, 2, 1)",
                        "x[:, 1:]",
                        "x[:, 0]",
                        "torch.cat([x, torch.tanh(x)], 1)",
                        "torch.constant_pad_nd(x, [1, 1], -2.)"}) {
    SCOPED_TRACE(y);
    EXPECT_EQ(bound_of(y), 1e4);
  }
  EXPECT_EQ(bound_of("torch.leaky_relu(x, -3.)"), 3e4);
  EXPECT_EQ(bound_of("torch.constant_pad_nd(x, [1, 1], -20000.)"), 2e4);
  EXPECT_EQ(bound_of("torch.cat([x, x * -2], 1)"), 2e4);
  for (const char* y :
       {"torch.sigmoid(x)", "torch.hardsigmoid(x)", "torch.tanh(x)", "torch.softmax(x, 1)"}) {
    EXPECT_EQ(bound_of(y), 1) << y;
  }
}

TEST(ValueBoundsTest, ArithmeticAddsUp) {
  EXPECT_EQ(bound_of("x + x"), 2e4);
  EXPECT_EQ(bound_of("torch.add(x, x, alpha=-3)"), 4e4);
  EXPECT_EQ(bound_of("x - 5"), 10005);
  EXPECT_EQ(bound_of("torch.sub(x, x, alpha=2)"), 3e4);
  EXPECT_EQ(bound_of("x * x"), 1e8);
  EXPECT_EQ(bound_of("x * self.w"), 3e4);
  EXPECT_EQ(bound_of("x / -0.5"), 2e4);
  EXPECT_EQ(bound_of("x / self.w"), 2e4);
}

TEST(ValueBoundsTest, OthersAreNotKnown) {
  for (const char* y :
       {"torch.exp(x)", "torch.sqrt(x)", "x / x", "x / 0", "x * 0 / 0", "torch.pow(x, 2)",
        "torch.div(x, 2., rounding_mode='floor')", "torch.dropout(x, 0.5, True)",
        "torch.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 1)",
        "torch.max_pool2d(x, [2, 2], [1, 1], [1, 1], [3, 3])"}) {
    EXPECT_EQ(bound_of(y), kInfinity) << y;
  }
}

// Even of what seems not to be touched: it may share its memory.
TEST(ValueBoundsTest, NothingIsKnownOfAGraphThatWrites) {
  EXPECT_EQ(bound_of("x * 2\n    v = y[:, :1]\n    torch.exp_(v)"), kInfinity);
  EXPECT_EQ(bound_of("x * 2\n    v = y[:, :1]\n    torch.exp(v)"), 2e4);
}

TEST(ValueBoundsTest, EndNearTheLargestNumberOfAType) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto x = at::ones({2, 2, 2, 2}, type);
    EXPECT_EQ(bound_of("x * 1e33", x), 1e37);
    EXPECT_EQ(bound_of("x * 1e34", x), kInfinity);
    EXPECT_EQ(bound_of("x * 1e34 * 0", x), kInfinity);
  }
  // Sums of 16, before they are divided.
  EXPECT_EQ(bound_of("torch.mean(x * 1e32, [2, 3])"), 1e36);
  EXPECT_EQ(bound_of("torch.mean(x * 1e33, [2, 3])"), kInfinity);
  EXPECT_EQ(bound_of("x", at::ones({2, 2}, at::kHalf)), kInfinity);
  EXPECT_EQ(bound_of("x", at::ones({2, 2}, at::kDouble)), kInfinity);
  EXPECT_EQ(bound_of("x", at::ones({2, 2}, at::kLong)), kInfinity);
  const auto rows = at::ones({2}, at::kLong);  // of a table in float16
  EXPECT_EQ(bound_of("torch.embedding(self.w, x)", rows), 3);
  EXPECT_EQ(bound_of("torch.embedding(self.w, x) * 1000", rows), 3000);
  EXPECT_EQ(bound_of("torch.embedding(self.w, x) * 2000", rows), kInfinity);
  EXPECT_EQ(bound_of("torch.constant_pad_nd(torch.embedding(self.w, x), [1, 1], 2000.)", rows),
            2000);
  EXPECT_EQ(bound_of("torch.constant_pad_nd(torch.embedding(self.w, x), [1, 1], 5000.)", rows),
            kInfinity);
}

constexpr const char* kThree = R"(
def forward(self, x):
    y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])
    z = torch.conv2d(torch.relu(y), self.w, self.b, [1, 1], [1, 1])
    return torch.conv2d(z, self.w, self.b, [1, 1], [1, 1]) + z
)";

TEST(ValueBoundsTest, WinogradsConvolutionsKeepTheirBounds) {
  if (winograd_lanes() == 0) GTEST_SKIP() << "no Winograd's convolution here";
  const auto x = at::full({1, 32, 16, 16}, kLargestInput);
  const auto net =
      frozen_net({{"w", at::randn({32, 32, 3, 3}).abs()}, {"b", at::ones({32})}}, kThree);
  const auto graph = profiled(net, x);
  const auto plain = ValueBounds(*graph).of(graph->outputs().front());
  ASSERT_EQ(run_winograd_pass(*graph), 3);
  const auto bound = ValueBounds(*graph).of(graph->outputs().front());
  const auto largest = run_code(torch::jit::Code(graph, "forward"), {net._ivalue(), x})
                           .toTensor()
                           .max()
                           .item<double>();
  EXPECT_GT(plain, largest);
  EXPECT_GT(bound, plain);
  EXPECT_LT(bound, 1e5 * plain);
}

TEST(InputsTest, AreWithinBoundsWhereAllNumbersAre) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    SCOPED_TRACE(c10::toString(type));
    const auto images = at::randn({3, 5, 7, 9}).to(type);
    for (const auto& x : {images.clone(), images.contiguous(at::MemoryFormat::ChannelsLast),
                          images.clone().transpose(0, 3), images.clone().slice(3, 1, 8, 2)}) {
      EXPECT_TRUE(are_within_bounds({x}));
      for (const double number : {kNanNumber, kInfinity, -kInfinity, 10100., -10100.}) {
        const auto before = x[1][4][6][2].clone();
        x[1][4][6][2].fill_(number);
        EXPECT_FALSE(are_within_bounds({at::ones({2}), x})) << number;
        x[1][4][6][2].copy_(before);
      }
      x[0][0][0][0].fill_(kLargestInput);
      EXPECT_TRUE(are_within_bounds({x}));
    }
  }
  EXPECT_TRUE(are_within_bounds({at::full({2}, 100000, at::kLong)}));
  EXPECT_TRUE(are_within_bounds({at::empty({0, 3})}));
}

}  // namespace
}  // namespace tally::graph_optimizer
