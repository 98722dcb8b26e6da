// SPDX-License-Identifier: Apache-2.0
// Means and norms over all pixels, beside LibTorch's own.
#include <algorithm>
#include <limits>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>

#include "onednn/pixel_reductions.hpp"
#include "passes/jit_graph.hpp"
#include "rewritten_net.hpp"

namespace tally::graph_optimizer {
namespace {

class PixelReductionsTest : public OnednnGraphTest {};

// What a function gives whose line is `returned`, of images `x`.
class Reduced : public RewrittenNet {
 public:
  Reduced(const std::string& returned, const at::Tensor& x)
      : RewrittenNet({}, "def forward(self, x):\n    return " + returned + "\n", x,
                     reduce_pixels_by_pools) {}
  bool has(Kinds kinds) const {
    return std::ranges::any_of(graph().nodes(),
                               [&](const auto* node) { return is_a(node, kinds); });
  }
};

constexpr Kinds kMeans{"aten::mean", "aten::adaptive_avg_pool2d"};

TEST_P(PixelReductionsTest, MeansOf16BitsHaveTheSameBits) {
  const auto x = images(4);
  for (const std::string mean :
       {"torch.mean(x, [2, 3])", "torch.mean(x, [-1, -2], True)", "torch.mean(x, (3, 2), True)",
        "torch.adaptive_avg_pool2d(x, [1, 1])", "torch.mean(x.permute(0, 2, 3, 1), [1, 2], True)",
        "torch.mean(x.permute(0, 2, 3, 1), [1, 2])"}) {
    SCOPED_TRACE(mean);
    const Reduced reduced(mean, x);
    EXPECT_EQ(reduced.has(kMeans), GetParam() == at::kFloat);
    const auto found = reduced(x);
    EXPECT_TRUE(found.equal(reduced.plain(x)));
    EXPECT_EQ(found.strides(), reduced.plain(x).strides());
  }
}

TEST_P(PixelReductionsTest, NormsAreCloseAndLieAlike) {
  const auto x = images(4);
  for (const std::string norm :
       {"torch.linalg_vector_norm(x + 0., 2, [2, 3], True)",
        "torch.linalg_vector_norm(x + 0., 2., [2, 3])",
        "torch.linalg_vector_norm((x + 0.).permute(0, 2, 3, 1), 2, [1, 2], True)"}) {
    SCOPED_TRACE(norm);
    const Reduced reduced(norm, x);
    EXPECT_FALSE(reduced.has({"aten::linalg_vector_norm"}));
    const auto found = reduced(x);
    const auto plain = reduced.plain(x);
    EXPECT_EQ(found.strides(), plain.strides());
    EXPECT_EQ(found.scalar_type(), plain.scalar_type());
    EXPECT_TRUE(at::allclose(found, plain, GetParam() == at::kFloat ? 1e-6 : 1e-2));
  }
}

TEST_P(PixelReductionsTest, NanIsKept) {
  for (const std::string line :
       {"torch.mean(x, [2, 3])", "torch.linalg_vector_norm(x + 0., 2, [2, 3], True)"}) {
    SCOPED_TRACE(line);
    auto x = images(4);
    const Reduced reduced(line, x);
    x[2][3][4][4].fill_(std::numeric_limits<float>::quiet_NaN());
    const auto found = reduced(x);
    EXPECT_EQ(at::isfinite(found).logical_not().sum().item<int>(), 1);
    EXPECT_FALSE(at::isfinite(found[2][3]).any().item<bool>());
  }
}

TEST_P(PixelReductionsTest, AllElseIsLeftAsItIs) {
  const auto x = images(4);
  for (const std::string line :
       {"torch.mean(x, [1, 2])", "torch.mean(x, [2])", "torch.mean(x.contiguous(), [2, 3])",
        "torch.mean(x, [2, 3], dtype=7)", "torch.mean(x[:, :8], [2, 3])",
        "torch.adaptive_avg_pool2d(x, [2, 2])",
        "torch.adaptive_avg_pool2d(x, [x.size(1) // 16, 1])",
        "torch.linalg_vector_norm(x + 0., 1, [2, 3])",
        "torch.linalg_vector_norm(x.contiguous(), 2, [2, 3])"}) {
    SCOPED_TRACE(line);
    const Reduced reduced(line, x);
    EXPECT_TRUE(
        reduced.has({"aten::mean", "aten::adaptive_avg_pool2d", "aten::linalg_vector_norm"}));
    EXPECT_TRUE(reduced(x).equal(reduced.plain(x)));
  }
}

// 64 squares of 40 are more than the largest of its numbers.
TEST(PixelReductionsTest, NormsInFloat16AreLeftAsTheyAre) {
  const auto x = (at::ones({2, 3, 8, 8}) * 40).contiguous(at::MemoryFormat::ChannelsLast);
  const Reduced reduced("torch.linalg_vector_norm(x + 0., 2, [2, 3])", x.to(at::kHalf));
  EXPECT_EQ(reduced(x.to(at::kHalf)).max().item<double>(), 320);
}

INSTANTIATE_TEST_SUITE_P(Types, PixelReductionsTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
