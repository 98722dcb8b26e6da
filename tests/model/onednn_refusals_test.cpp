// Networks, and operators in them, that must not come to oneDNN Graph.
#include <algorithm>
#include <string>

#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "between_layers.hpp"
#include "cpu_module.hpp"
#include "graph_edit.hpp"
#include "onednn_graph_fixture.hpp"
#include "onednn_rewrites.hpp"
#include "profiled_graph.hpp"
#include "script_net.hpp"

namespace tally::model {
namespace {

class OnednnRefusalTest : public OnednnGraphTest {};

// What was compiled for the shapes of one batch would be wrong for the next.
TEST_P(OnednnRefusalTest, NetworksWhoseShapesDependOnNumbersAreNotCompiled) {
  for (const std::string varying :
       {"x = x[:, :, :, :int(torch.clamp(torch.max(x), 1, 8))]",
        "x = x[:, :, :, :int(torch.sum(torch.gt(x[0, 0, 0, :4], 0.))) + 1]",
        "x = x[:, :, :, torch.gt(self.ones[:8] * torch.max(x), -1e9)]",
        "if bool(torch.max(x) > 0):\n        x = x * 2."}) {
    SCOPED_TRACE(varying);
    const auto net = frozen_net(weights(), fill(kNetwork, {varying}));
    CpuModule module(net, {}, "net.pt", CpuKernels::automatic);
    const c10::InferenceMode guard;
    module.rehearse({images(4)});
    EXPECT_EQ(module.form(), "");
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
  CpuModule module(net, {}, "net.pt", CpuKernels::automatic);
  const c10::InferenceMode guard;
  const auto x = images(4);
  module.rehearse({x});
  EXPECT_TRUE(module.run({x}).toTensor().equal(plain_scores(net, x)));
  EXPECT_THAT(module.notes(), testing::ElementsAre(testing::HasSubstr("out=")));
}

// The fuser would round to whole numbers.
TEST_P(OnednnRefusalTest, DecimalsAreKept) {
  const auto net = frozen_net({}, "def forward(self, x):\n    return torch.round(x, decimals=1)\n");
  const auto x = images(2);
  auto [graph, scores] = profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), x});
  rewrite_for_onednn(*graph, Hidden::nothing, {});
  EXPECT_TRUE(std::ranges::none_of(graph->block()->nodes(),
                                   [](const auto* node) { return is_a(node, {"aten::round"}); }));
  const torch::jit::Code code(graph, "forward");
  EXPECT_TRUE(run_code(code, {net._ivalue(), x}).toTensor().equal(plain_scores(net, x)));
}

INSTANTIATE_TEST_SUITE_P(Types, OnednnRefusalTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::model
