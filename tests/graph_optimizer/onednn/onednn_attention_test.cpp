// SPDX-License-Identifier: Apache-2.0
// Attention that oneDNN Graph compiles, whole or in parts.
#include <limits>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>
#include <torch/headeronly/version.h>

#include "onednn/onednn_rewrites.hpp"
#include "onednn/profiled_graph.hpp"
#include "onednn_graph_fixture.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

class OnednnAttentionTest : public OnednnGraphTest {
 protected:
  static NamedWeights weights() {
    auto named = OnednnGraphTest::weights();
    named.emplace_back("scale", at::scalar_tensor(0.3, at::kDouble));
    named.emplace_back("mask", at::randn({1, 2, 64, 64}).to(type()));
    return named;
  }
};

// Scaled by a traced number, shifted by a mask, and by two of them, as windows of images are.
constexpr const char* kAttention = R"(
def forward(self, x):
    x = torch.conv2d(x, self.w1, self.b1).flatten(2).transpose(1, 2)
    x = torch.layer_norm(x, [16], self.b2, self.b3)
    q = torch.linear(x, self.w2.reshape([16, 16]), self.b2).reshape([x.size(0), -1, 2, 8]).transpose(1, 2)
    k = torch.linear(x, self.w3.reshape([16, 16]), self.b3).reshape([x.size(0), -1, 2, 8]).transpose(1, 2)
    v = torch.linear(x, self.w4.reshape([16, 16]), self.b4).reshape([x.size(0), -1, 2, 8]).transpose(1, 2)
    scores = torch.matmul(q {}, k.transpose(2, 3)) {}
    x = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape([x.size(0), -1, 16])
    return torch.linear(torch.mean(x, [1]), self.w, self.b)
)";

struct Attention {
  std::vector<std::string> parts;
  std::string form;          // in float32
  std::string form_in_bf16;  // of which the fuser knows other patterns
};
const std::string kWhole = "oneDNN Graph";
const std::string kWithoutProducts = "oneDNN Graph without products";
// The oneDNN of LibTorch 2.11 and later refuses in bf16 what that of 2.10 takes.
const std::string kRefused = TORCH_VERSION_MINOR < 11 ? kWhole : kWithoutProducts;
const std::vector<Attention> kScalesAndShifts{
    {{"", "/ 8.0"}, kWhole, kWhole},
    {{"* self.scale", "+ self.mask"}, kWhole, kRefused},
    {{"", "/ torch.sqrt(q.size(-1))"}, kWhole, kWhole},
    {{"* self.scale", "+ self.mask + self.mask"}, kWhole, kRefused},
    {{"", "* self.scale + self.mask"}, kWhole, kWhole}};

const std::string& form_of(const Attention& attention) {
  return OnednnAttentionTest::GetParam() == at::kFloat ? attention.form : attention.form_in_bf16;
}

TEST_P(OnednnAttentionTest, IsTakenAsFarAsItIsKnown) {
  for (const auto& attention : kScalesAndShifts) {
    const auto& parts = attention.parts;
    SCOPED_TRACE(parts[0] + parts[1]);
    const auto net = frozen_net(weights(), fill(kAttention, parts));
    Compiled compiled(net, images(4), form_of(attention));
    const auto x = images(4);
    EXPECT_LT(error_of(compiled(x), plain_scores(net, x)), rounding());
  }
}

// oneDNN's softmax keeps NaN where it was; the product after it takes it to the whole row.
TEST_P(OnednnAttentionTest, NanInASampleIsSeenInItsScoresAlone) {
  constexpr std::int64_t kSample = 2;
  for (const auto& attention : kScalesAndShifts) {
    const auto& parts = attention.parts;
    SCOPED_TRACE(parts[0] + parts[1]);
    const auto net = frozen_net(weights(), fill(kAttention, parts));
    Compiled compiled(net, images(4), form_of(attention));
    auto x = images(4);
    x[kSample][3][4][4].fill_(std::numeric_limits<float>::quiet_NaN());
    expect_finite(compiled(x), kSample);
  }
}

TEST_P(OnednnAttentionTest, NanInAWeightIsSeenInAllScores) {
  for (const auto& attention : kScalesAndShifts) {
    const auto& parts = attention.parts;
    for (const std::size_t weight : {0U, 2U, 4U, 6U}) {  // w1 to w4
      SCOPED_TRACE(parts[0] + parts[1] + std::to_string(weight));
      auto named = weights();
      named[weight].second[5].fill_(std::numeric_limits<float>::quiet_NaN());
      Compiled compiled(frozen_net(named, fill(kAttention, parts)), images(4), form_of(attention));
      EXPECT_FALSE(at::isfinite(compiled(images(4))).any().item<bool>());
    }
  }
}

// Also where its products are hidden.
TEST_P(OnednnAttentionTest, NormalisationAndSoftmaxAreTaken) {
  const auto net = frozen_net(weights(), fill(kAttention, kScalesAndShifts[1].parts));
  auto graph = profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), images(4)}).graph;
  rewrite_for_onednn(*graph, Hidden::products, {});
  fuse_by_onednn(graph);
  // LibTorch 2.12 and later leave softmax in bf16 to themselves.
  const bool takes_softmax = TORCH_VERSION_MINOR < 12 || GetParam() == at::kFloat;
  for (const auto* node : graph->block()->nodes()) {
    EXPECT_FALSE(is_a(node, {"aten::layer_norm"})) << *node;
    EXPECT_FALSE(takes_softmax && is_a(node, {"aten::softmax"})) << *node;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OnednnAttentionTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
