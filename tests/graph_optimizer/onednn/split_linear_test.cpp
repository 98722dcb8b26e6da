// SPDX-License-Identifier: Apache-2.0
// Linear layers whose results are taken apart, beside what they were before.
#include "onednn/linear_layers.hpp"

#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/isnan.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "onednn_graph_fixture.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr std::int64_t kIn = 24, kOut = 40;

class SplitLinearTest : public OnednnGraphTest {
 protected:
  static at::Tensor rows() { return at::randn({2, 3, kIn}).to(type()); }
  // `lines` make y of a, b and c, which are of the layer's result.
  static torch::jit::Module net(const std::string& lines) {
    const NamedWeights weights{{"w", (at::randn({kOut, kIn}) * 0.2).to(type())},
                               {"b", at::randn({kOut}).to(type())}};
    return frozen_net(weights, "def forward(self, x):\n" + lines + "    return y\n");
  }
  static int split(const torch::jit::Module& net) {
    return split_linear_layers(*net.get_method("forward").graph());
  }
};

const std::string kLayer = "    all = torch.linear(x, self.w, self.b)\n";
const std::string kGate = "    y = torch.cat([torch.gelu(a) * 2.0, b, c], -1)\n";
const std::vector<std::string> kApart{
    kLayer + "    a, b, c = torch.split_with_sizes(all, [8, 12, 20], -1)\n" + kGate,
    kLayer + "    a, b, c = torch.split(all, 16, -1)\n" + kGate,
    kLayer + "    a, b, c = torch.chunk(all, 3, -1)\n" + kGate,
    "    all = torch.linear(x, self.w)\n    a, b, c = torch.chunk(all, 3, -1)\n" + kGate};

TEST_P(SplitLinearTest, GivesTheSameNumbers) {
  const auto x = rows();
  for (const auto& lines : kApart) {
    SCOPED_TRACE(lines);
    const auto module = net(lines);
    const auto expected = run_graph(module, x);
    EXPECT_EQ(split(module), GetParam() == at::kFloat ? 0 : 1);
    EXPECT_LT(error_of(run_graph(module, x), expected), GetParam() == at::kFloat ? 1e-6 : 0.02);
  }
}

TEST_P(SplitLinearTest, OthersStayAsTheyAre) {
  const std::string split3 = "    a, b, c = torch.chunk(all, 3, -1)\n";
  for (const auto& lines :
       {kLayer + split3 + "    y = a + 1\n",                                        // no function
        kLayer + split3 + "    y = torch.gelu(a) + all.sum()\n",                    // read twice
        kLayer + "    a, b = torch.chunk(all, 2, 0)\n    y = torch.gelu(a)\n",      // rows
        kLayer + "    a, b, c = torch.chunk(all, 0, -1)\n    y = torch.gelu(a)\n",  // none
        kLayer + "    n = x.size(0) * 20\n    a, b = torch.split(all, n, -1)\n"     // no constant
                 "    y = torch.gelu(a)\n"}) {
    SCOPED_TRACE(lines);
    EXPECT_EQ(split(net(lines)), 0);
  }
}

TEST_P(SplitLinearTest, NanIsKept) {
  auto x = rows();
  x[1][2][3] = std::numeric_limits<float>::quiet_NaN();
  const auto module = net(kApart.front());
  const auto expected = at::isnan(run_graph(module, x));
  split(module);
  EXPECT_TRUE(at::isnan(run_graph(module, x)).equal(expected));
}

INSTANTIATE_TEST_SUITE_P(Types, SplitLinearTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
