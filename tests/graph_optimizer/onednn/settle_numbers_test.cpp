// SPDX-License-Identifier: Apache-2.0
// Products with numbers, beside what they were before.
#include "onednn/onednn_arithmetic.hpp"

#include <limits>
#include <string>

#include <ATen/ops/isnan.h>
#include <gtest/gtest.h>

#include "passes/jit_graph.hpp"
#include "rewritten_net.hpp"

namespace tally::graph_optimizer {
namespace {

// What a function gives whose line is `returned`, with the numbers of all products settled.
class Settled {
 public:
  Settled(const std::string& returned, const at::Tensor& x)
      : net({}, "def forward(self, x):\n    y = torch.relu(x)\n    return " + returned + "\n", x,
            [this](torch::jit::Graph& graph) {
              for (auto* node : all_nodes(graph.block())) {
                if (is_a(node, {"aten::mul"})) all_settled &= settle_numbers(graph, node);
              }
              for (const auto* node : all_nodes(graph.block())) {
                num_products += is_a(node, {"aten::mul"}) ? 1 : 0;
              }
            }) {}

  bool all_settled = true;
  int num_products = 0;
  RewrittenNet net;
};

class SettleNumbersTest : public OnednnGraphTest {};

TEST_P(SettleNumbersTest, NumbersThatAreRoundedBecomeTwoAfterAPass) {
  const auto x = images(4);
  for (const std::string line : {"y * 0.3", "y * -1.7138", "(x + y) * 1e-3", "y * 3.1e4"}) {
    SCOPED_TRACE(line);
    const Settled settled(line, x);
    EXPECT_TRUE(settled.all_settled);
    EXPECT_EQ(settled.num_products, GetParam() == at::kFloat ? 1 : 2);
    EXPECT_LT(error_of(settled.net(x), settled.net.plain(x)), 0.008);
  }
}

TEST_P(SettleNumbersTest, NumbersThatAreKeptStayOne) {
  const auto x = images(4);
  for (const std::string line : {"y * 0.25", "x * 3.0", "(x + y) * 2"}) {
    SCOPED_TRACE(line);
    const Settled settled(line, x);
    EXPECT_TRUE(settled.all_settled);
    EXPECT_EQ(settled.num_products, 1);
    EXPECT_TRUE(settled.net(x).equal(settled.net.plain(x)));
  }
}

// Where nothing of oneDNN's comes before it, or where what comes is read twice.
TEST_P(SettleNumbersTest, OthersStayWithLibTorch) {
  const auto x = images(4);
  for (const std::string line : {"x * 0.3", "y * 0.3 + y", "torch.tanh(x) * 0.3"}) {
    SCOPED_TRACE(line);
    const Settled settled(line, x);
    EXPECT_EQ(settled.all_settled, GetParam() == at::kFloat);
    EXPECT_EQ(settled.num_products, 1);
  }
}

TEST_P(SettleNumbersTest, NanIsKept) {
  auto x = images(4);
  const Settled settled("(x + y) * 0.3", x);
  x[2][3][1][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(at::isnan(settled.net(x)).equal(at::isnan(settled.net.plain(x))));
}

INSTANTIATE_TEST_SUITE_P(Types, SettleNumbersTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
