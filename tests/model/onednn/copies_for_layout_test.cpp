// SPDX-License-Identifier: Apache-2.0
// Copies into another memory layout that are taken away, and those that must stay.
#include <string>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "onednn/copies_for_layout.hpp"
#include "onednn_graph_fixture.hpp"
#include "script_net.hpp"

namespace tally::model {
namespace {

class CopiesForLayoutTest : public OnednnGraphTest {
 protected:
  static torch::jit::Module net(const std::string& lines) {
    return frozen_net(weights(),
                      "def forward(self, x):\n    y = torch.conv2d(x, self.w1)\n" + lines);
  }
  // How many copies are gone from the network of these lines; its scores must stay the same.
  static int num_dropped(const std::string& lines) {
    const auto x = images(2);
    const auto module = net(lines);
    const auto expected = plain_scores(module, x);
    const int dropped = drop_copies_before_convolutions(*module.get_method("forward").graph());
    EXPECT_TRUE(run_graph(module, x).equal(expected)) << lines;
    return dropped;
  }
};

TEST_P(CopiesForLayoutTest, GoWhereConvolutionsReadThem) {
  EXPECT_EQ(num_dropped("    return torch.conv2d(y.contiguous(), self.w2)\n"), 1);
  EXPECT_EQ(num_dropped("    z = torch.relu(y.contiguous())\n"
                        "    return torch.conv2d(z, self.w2) + torch.conv2d(z, self.w3)\n"),
            1);
}

TEST_P(CopiesForLayoutTest, GoBeforeConcatenationsForConvolutions) {
  EXPECT_EQ(num_dropped("    a, b = torch.split(y, [8, 8], 1)\n"
                        "    z = torch.cat([a, torch.tanh(b).contiguous()], 1)\n"
                        "    return torch.conv2d(z, self.w2)\n"),
            1);
}

TEST_P(CopiesForLayoutTest, StayWhereOthersReadThem) {
  EXPECT_EQ(num_dropped("    return y.contiguous().view(2, -1)\n"), 0);
  EXPECT_EQ(num_dropped("    return y.contiguous()\n"), 0);
  EXPECT_EQ(num_dropped("    z = y.contiguous()\n"
                        "    return torch.conv2d(z, self.w2) + z\n"),
            0);
  EXPECT_EQ(num_dropped("    z = torch.cat([y.contiguous(), y], 1)\n    return z.view(2, -1)\n"),
            0);
  EXPECT_EQ(num_dropped("    w = self.w2 * torch.mean(y)\n"
                        "    return torch.conv2d(y, w.contiguous())\n"),
            0);
}

TEST_P(CopiesForLayoutTest, StayWhereTheSourceIsWrittenOver) {
  EXPECT_EQ(num_dropped("    z = y.contiguous()\n    y.zero_()\n"
                        "    return torch.conv2d(z, self.w2) + y\n"),
            0);
  EXPECT_EQ(num_dropped("    z = y.contiguous()\n    z.zero_()\n"
                        "    return torch.conv2d(z, self.w2) + y\n"),
            0);
}

TEST_P(CopiesForLayoutTest, AreGoneFromCompiledNetworks) {
  const auto x = images(2);
  const auto module =
      net("    a, b = torch.split(torch.relu(torch.conv2d(y, self.w2)), [8, 8], 1)\n"
          "    z = torch.cat([a, b.contiguous()], 1)\n"
          "    return torch.conv2d(torch.relu(torch.conv2d(z, self.w3)), self.w4)\n");
  EXPECT_LT(error_of(Compiled(module, x)(x), plain_scores(module, x)), rounding());
}

INSTANTIATE_TEST_SUITE_P(Types, CopiesForLayoutTest, testing::Values(at::kFloat, at::kBFloat16));

}  // namespace
}  // namespace tally::model
