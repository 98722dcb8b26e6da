// SPDX-License-Identifier: Apache-2.0
// Copies into another memory layout that are taken away, and those that must stay.
#include <algorithm>
#include <string>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "onednn/copies_for_layout.hpp"
#include "onednn_graph_fixture.hpp"
#include "passes/jit_graph.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr const char* kLast = "self.last, self.b1, [1, 1], [1, 1]";

class CopiesForLayoutTest : public OnednnGraphTest {
 protected:
  // The weight `last` makes its convolution's result channels-last; those of 1x1 do not.
  static torch::jit::Module net(const std::string& lines) {
    auto named = weights();
    named.emplace_back("last", (at::randn({kChannels, kChannels, 3, 3}) * 0.1)
                                   .to(type())
                                   .contiguous(at::MemoryFormat::ChannelsLast));
    return frozen_net(named, "def forward(self, x):\n    y = torch.conv2d(x, self.w1)\n" + lines);
  }
  // How many copies are gone from the network of these lines; its scores must stay the same.
  static int num_dropped(const std::string& lines) {
    SCOPED_TRACE(lines);
    const auto x = images(2);
    const auto module = net(lines);
    const auto expected = plain_scores(module, x);
    const int dropped = drop_copies_before_convolutions(*module.get_method("forward").graph());
    EXPECT_TRUE(run_graph(module, x).equal(expected));
    return dropped;
  }
};

TEST_P(CopiesForLayoutTest, GoWhereConvolutionsReadThem) {
  EXPECT_EQ(num_dropped(fill("    return torch.conv2d(y.contiguous(), {})\n", {kLast})), 1);
  EXPECT_EQ(num_dropped(fill("    z = torch.relu(y.contiguous())\n"
                             "    return torch.conv2d(z, {}) + torch.conv2d(torch.silu(z), {})\n",
                             {kLast, kLast})),
            1);
}

TEST_P(CopiesForLayoutTest, GoBeforeConcatenationsForConvolutions) {
  EXPECT_EQ(num_dropped(fill("    a, b = torch.split(y, [8, 8], 1)\n"
                             "    z = torch.cat([a, torch.tanh(b).contiguous()], 1)\n"
                             "    return torch.conv2d(z, {})\n",
                             {kLast})),
            1);
}

// What a convolution of 1x1 gives lies as its input does.
TEST_P(CopiesForLayoutTest, GoWhereOtherConvolutionsStandBetween) {
  EXPECT_EQ(num_dropped(fill("    z = torch.conv2d(y.contiguous(), self.w2)\n"
                             "    return torch.conv2d(z, {})\n",
                             {kLast})),
            1);
  EXPECT_EQ(num_dropped("    z = torch.conv2d(y.contiguous(), self.w2)\n"
                        "    return z.view(z.size(0), -1)\n"),
            0);
  EXPECT_EQ(num_dropped("    z = torch.conv2d(y.contiguous(), self.depthwise, self.b1, [1, 1], "
                        "[1, 1], [1, 1], 16)\n    return z.view(z.size(0), -1)\n"),
            0);
}

TEST_P(CopiesForLayoutTest, StayWhereOthersReadThem) {
  for (const std::string other :
       {"y.contiguous().view(2, -1)", "y.contiguous()",
        "torch.cat([y.contiguous(), y], 1).view(2, -1)",
        "torch.conv2d(y, (self.w2 * torch.mean(y)).contiguous())",
        "torch.conv1d(y.contiguous().view(2, 16, 64), self.w2.view(16, 16, 1))"}) {
    EXPECT_EQ(num_dropped("    return " + other + "\n"), 0);
  }
  EXPECT_EQ(
      num_dropped(fill("    z = y.contiguous()\n    return torch.conv2d(z, {}) + z\n", {kLast})),
      0);
}

// The one that each convolution would make for itself.
TEST_P(CopiesForLayoutTest, StayWhereTheyAreChannelsLast) {
  EXPECT_EQ(num_dropped(fill("    z = y.contiguous(memory_format=2)\n"
                             "    return torch.conv2d(z, {})\n",
                             {kLast})),
            0);
}

TEST_P(CopiesForLayoutTest, StayWhereTheSourceIsWrittenOver) {
  EXPECT_EQ(num_dropped(fill("    z = y.contiguous()\n    y.zero_()\n"
                             "    return torch.conv2d(z, {}) + y\n",
                             {kLast})),
            0);
}

TEST_P(CopiesForLayoutTest, AreGoneFromProfiledAndCompiledNetworks) {
  const auto x = images(2);
  const auto module =
      net(fill("    a, b = torch.split(torch.relu(torch.conv2d(y, self.w2)), [8, 8], 1)\n"
               "    z = torch.cat([a, b.contiguous()], 1)\n"
               "    return torch.conv2d(torch.relu(torch.conv2d(z, {})), self.w4)\n",
               {kLast}));
  const auto profile = profile_shapes(*module.get_method("forward").graph(), {module._ivalue(), x});
  EXPECT_EQ(profile.num_dropped_copies, 1);
  EXPECT_TRUE(std::ranges::none_of(
      profile.graph->nodes(), [](const auto* node) { return is_a(node, {"aten::contiguous"}); }));
  EXPECT_LT(error_of(Compiled(module, x)(x), plain_scores(module, x)), rounding());
}

INSTANTIATE_TEST_SUITE_P(Types, CopiesForLayoutTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
