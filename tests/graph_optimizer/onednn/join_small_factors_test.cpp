// SPDX-License-Identifier: Apache-2.0
// Products and sums with small tensors, beside what they were before.
#include "onednn/join_small_factors.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"
#include "rewritten_net.hpp"

namespace tally::graph_optimizer {
namespace {

class SmallFactorsTest : public OnednnGraphTest {};

// What a function gives whose line is `returned`: of images `x`, a scale of each sample and
// channel, and weights `w` and `b` of each channel.
class Joined : public RewrittenNet {
 public:
  Joined(const std::string& returned, const at::Tensor& x)
      : RewrittenNet({{"w", at::randn({1, x.size(1), 1, 1}).to(x.options())},
                      {"b", at::randn({1, x.size(1), 1, 1}).to(x.options())}},
                     "def forward(self, x):\n    scale = torch.mean(x, [2, 3], True)\n"
                     "    scaled = x * scale\n    return " +
                         returned + "\n",
                     x, join_small_factors) {}
  // Products and sums with as many results as x has numbers.
  std::int64_t num_large(const at::Tensor& x) const {
    return std::ranges::count_if(graph().nodes(), [&](const torch::jit::Node* node) {
      return is_a(node, {"aten::add", "aten::mul"}) && sizes_of(node->output()) == x.sizes().vec();
    });
  }
};

struct Line {
  std::string returned;
  std::int64_t num_large;  // afterwards
};
const std::vector<Line> kJoined{{"(x * scale) * self.w", 1},
                                {"self.w * (scale * x)", 1},
                                {"(x * scale) * 2.0", 1},
                                {"((scale * x) * 2) * 0.3", 1},
                                {"x + x * scale", 1},
                                {"scale * x + x", 1},
                                {"x + (x * scale + self.b)", 2},
                                {"(self.b + self.w * (x * scale)) + x", 2}};
const std::vector<Line> kLeft{{"(x * scale) + self.b", 2},
                              {"torch.mul(x, x) * scale", 2},
                              {"torch.add(x, x * scale, alpha=2)", 2},
                              {"(x + 1) + x * scale", 3},
                              {"(x * 2) * 3", 2}};

TEST_P(SmallFactorsTest, AreJoinedFirst) {
  const auto x = images(4);
  for (const auto& [returned, num_large] : kJoined) {
    SCOPED_TRACE(returned);
    const Joined joined(returned, x);
    EXPECT_EQ(joined.num_large(x), num_large);
    EXPECT_LT(error_of(joined(x), joined.plain(x)), GetParam() == at::kFloat ? 1e-6 : 0.02);
  }
}

TEST_P(SmallFactorsTest, OtherArithmeticStaysAsItIs) {
  const auto x = images(4);
  for (const auto& [returned, num_large] : kLeft) {
    SCOPED_TRACE(returned);
    const Joined joined(returned, x);
    EXPECT_EQ(joined.num_large(x), num_large);
    EXPECT_TRUE(joined(x).equal(joined.plain(x)));
  }
}

// What is joined reads its operands later.
TEST_P(SmallFactorsTest, WhatIsWrittenOverIsReadBefore) {
  const auto x = images(4);
  for (const std::string write :
       {"x.masked_fill_(x > 0.5, 0.)", "scale.masked_fill_(scale > 0., 0.)"}) {
    const RewrittenNet net(
        {{"w", at::randn({1, x.size(1), 1, 1}).to(x.options())}},
        "def forward(self, given):\n    x = given + 0.\n    scale = torch.mean(x, [2, 3], True)\n"
        "    scaled = x * scale\n    " +
            write + "\n    return scaled * self.w + (x.exp() + scale)\n",
        x, join_small_factors);
    EXPECT_TRUE(net(x).equal(net.plain(x))) << write;
  }
}

// Also what was joined before.
TEST_P(SmallFactorsTest, AProductThatIsMadeAndWrittenOverIsReadBefore) {
  const auto x = images(4);
  const RewrittenNet net({{"w", at::randn({1, x.size(1), 1, 1}).to(x.options())}},
                         "def forward(self, x):\n    scale = torch.mean(x, [2, 3], True)\n"
                         "    p = (x * scale) * 2.0\n    q = p * self.w\n"
                         "    p.masked_fill_(p > 0.01, 0.)\n    return q * 3.0 + p\n",
                         x, join_small_factors);
  EXPECT_LT(error_of(net(x), net.plain(x)), GetParam() == at::kFloat ? 1e-6 : 0.02);
}

TEST_P(SmallFactorsTest, OtherTypesStayAsTheyAre) {
  for (const auto& [type, number] : {std::pair(at::kLong, 3.), std::pair(at::kHalf, 1e-3)}) {
    const auto x = at::full({4, 16, 8, 8}, number).to(type);
    const RewrittenNet net(
        {{"a", at::full({16, 1, 1}, 300.).to(type)}},
        "def forward(self, x):\n    return (x * self.a) * self.a + (x + x * self.a)\n", x,
        join_small_factors);
    EXPECT_TRUE(net(x).equal(net.plain(x))) << type;
  }
}

TEST_P(SmallFactorsTest, AProductThatIsReadTwiceIsComputedOnce) {
  const auto x = images(4);
  const Joined joined("torch.add(scaled * self.w, scaled, alpha=2)", x);
  EXPECT_EQ(joined.num_large(x), 3);
  EXPECT_TRUE(joined(x).equal(joined.plain(x)));
}

TEST_P(SmallFactorsTest, NanIsKept) {
  for (const auto& [returned, num_large] : kJoined) {
    SCOPED_TRACE(returned);
    auto x = images(4);
    const Joined joined(returned, x);
    x[2][3][1][1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(at::isnan(joined(x)).equal(at::isnan(joined.plain(x))));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SmallFactorsTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
