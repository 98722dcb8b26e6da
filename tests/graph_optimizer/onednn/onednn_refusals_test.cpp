// SPDX-License-Identifier: Apache-2.0
// Networks, and operators in them, that must not come to oneDNN Graph, or would be slow there.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "between_layers.hpp"
#include "cpu_module.hpp"
#include "onednn/onednn_rewrites.hpp"
#include "onednn/profiled_graph.hpp"
#include "onednn_graph_fixture.hpp"
#include "passes/jit_graph.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

class OnednnRefusalTest : public OnednnGraphTest {};

// What was compiled for the shapes of one batch would be wrong for the next.
TEST_P(OnednnRefusalTest, NetworksWhoseShapesDependOnNumbersAreNotCompiled) {
  for (const std::string varying :
       {"x = x[:, :, :, :int(torch.clamp(torch.max(x), 1, 8))]",
        "x = x[:, :, :, :int(torch.sum(torch.gt(x[0, 0, 0, :4], 0.))) + 1]",
        "x = x[:, :, :, torch.gt(self.ones[:8] * torch.max(x), -1e9)]",
        "if bool(torch.max(x) > 0):\n        x = x * 2.",
        "x = x / torch.where(torch.gt(x[:, 0].flatten(), 0.))[0].size(0)",
        "x = x / torch.repeat_interleave(x.flatten(), torch.gt(x.flatten(), 0.).to(4)).size(0)"}) {
    SCOPED_TRACE(varying);
    const auto net = frozen_net(weights(), fill(kNetwork, {varying}));
    CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
    const c10::InferenceMode guard;
    module.warm_up({images(4)});
    EXPECT_EQ(module.form(), "");
    EXPECT_THAT(module.notes(), testing::IsEmpty());
    for (int i = 0; i < 3; ++i) {
      const auto x = images(4);
      EXPECT_TRUE(module.run({x}).toTensor().equal(plain_scores(net, x)));
    }
  }
}

TEST_P(OnednnRefusalTest, ResultsThatAreWrittenIntoOtherTensorsAreLeftToLibTorch) {
  const std::string line =
      "y = torch.zeros_like(x)\n    z = torch.add(x, x, out=y)\n"
      "    x = z + torch.conv2d(x, self.w1, self.b1) + y";
  const auto net = frozen_net(weights(), fill(kNetwork, {line}));
  CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
  const c10::InferenceMode guard;
  const auto x = images(4);
  module.warm_up({x});
  EXPECT_TRUE(module.run({x}).toTensor().equal(plain_scores(net, x)));
  EXPECT_THAT(module.notes(), testing::ElementsAre(testing::HasSubstr("out=")));
}

// The fuser would round to whole numbers.
TEST_P(OnednnRefusalTest, DecimalsAreKept) {
  const auto net = frozen_net({}, "def forward(self, x):\n    return torch.round(x, decimals=1)\n");
  const auto x = images(2);
  const auto graph = profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), x}).graph;
  rewrite_for_onednn(*graph, Hidden::nothing, {});
  EXPECT_TRUE(std::ranges::none_of(graph->block()->nodes(),
                                   [](const auto* node) { return is_a(node, {"aten::round"}); }));
  const torch::jit::Code code(graph, "forward");
  EXPECT_TRUE(run_code(code, {net._ivalue(), x}).toTensor().equal(plain_scores(net, x)));
}

// Of numbers that lie apart, in two orders or with five dimensions, it has no other code, nor for
// rows that do not lie one behind the other.
TEST_P(OnednnRefusalTest, ArithmeticThatIsSlowThereIsLeftToLibTorch) {
  for (const std::string slow :
       {"x = torch.cat([torch.gelu(x[:, :8]) * x[:, 8:], x[:, :8]], 1)",
        "x = (x.reshape([x.size(0), 2, 8, 8, 8]) * self.ones[:8].reshape([1, 1, 8, 1, 1]))"
        ".reshape([x.size(0), 16, 8, 8])",
        "x = x * x[:, :1]", "x = torch.cat([x[:, :8], x[:, 8:] + x[:, :8]], 1)",
        "x = torch.cat([x[:, 8:], x[:, :8]], 1)",
        "x = torch.cat([torch.conv2d(x, self.w1, self.b1), x], 1)[:, :16]",
        "x = torch.cat([x.contiguous(), x.contiguous()], 1)[:, :16]", "x = x * x.contiguous()",
        "x = torch.softmax(x, 2)", "x = torch.softmax(x, 3)"}) {
    SCOPED_TRACE(slow);
    const auto net = frozen_net(weights(), fill(kNetwork, {slow}));
    const auto graph =
        profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), images(4)}).graph;
    rewrite_for_onednn(*graph, Hidden::nothing, {});
    for (const auto* node : graph->block()->nodes()) {
      EXPECT_FALSE(is_a(node, {"aten::add", "aten::mul", "aten::cat", "aten::softmax",
                               "aten::matmul", "aten::bmm"}));
    }
  }
}

// Small matrices, such as have neither rows nor columns together, and what convolutions give.
TEST_P(OnednnRefusalTest, ProductsThatAreSlowThereAreLeftToLibTorch) {
  for (const std::string slow :
       {"y = x.contiguous()\n    x = torch.matmul(y, y)",
        "y = x.reshape([x.size(0), 2, 16, 32]).permute([0, 2, 3, 1]).contiguous()"
        ".permute([0, 3, 1, 2])\n    x = torch.matmul(y, y.transpose(2, 3)).reshape([x.size(0), "
        "16, 8, 4])",
        "y = x.contiguous().reshape([-1, 16, 16, 16])\n    y = torch.tanh(torch.conv2d(y, self.w1, "
        "self.b1))\n"
        "    x = torch.matmul(y, y).reshape(x.size())"}) {
    SCOPED_TRACE(slow);
    const auto net = frozen_net(weights(), fill(kNetwork, {slow}));
    const auto graph =
        profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), images(4)}).graph;
    rewrite_for_onednn(*graph, Hidden::nothing, {});
    EXPECT_TRUE(std::ranges::none_of(
        graph->block()->nodes(), [](const auto* node) { return is_a(node, {"aten::matmul"}); }));
  }
}

TEST_P(OnednnRefusalTest, ArithmeticThatIsFastThereIsLeftToOnednn) {
  const std::vector<std::pair<std::string, const char*>> lines{
      {"x = x * torch.sigmoid(torch.mean(x, [2, 3], True))", "aten::mul"},
      {"x = torch.conv2d(x, self.w1, self.b1) + x", "aten::add"},
      {"x = torch.cat([torch.conv2d(x, self.w1, self.b1), x.contiguous()], 1)[:, :16]",
       "aten::cat"},
      {"x = torch.cat([torch.mean(x, 1, True), x, x], 1)[:, :16]", "aten::cat"},
      {"x = torch.softmax(x.contiguous(), -1)", "aten::softmax"},
      {"y = x.contiguous().reshape([-1, 16, 16])\n    x = torch.matmul(y, y).reshape(x.size())",
       "aten::matmul"},
      {"y = x.contiguous().reshape([-1, 16, 16])\n    x = torch.matmul(y, y.transpose(1, "
       "2)).reshape(x.size())",
       "aten::matmul"},
      {"y = x.contiguous().reshape([-1, 16, 16])\n    x = torch.bmm(y, y).reshape(x.size())",
       "aten::bmm"}};
  for (const auto& [line, kind] : lines) {
    SCOPED_TRACE(line);
    const auto net = frozen_net(weights(), fill(kNetwork, {line}));
    const auto graph =
        profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), images(4)}).graph;
    rewrite_for_onednn(*graph, Hidden::nothing, {});
    EXPECT_TRUE(std::ranges::any_of(graph->block()->nodes(),
                                    [&](const auto* node) { return is_a(node, {kind}); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OnednnRefusalTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
