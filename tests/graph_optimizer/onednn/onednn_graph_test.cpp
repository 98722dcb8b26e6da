// SPDX-License-Identifier: Apache-2.0
// Networks that oneDNN Graph compiles, beside the same ones as they are.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "between_layers.hpp"
#include "cpu_module.hpp"
#include "onednn/onednn_rewrites.hpp"
#include "onednn/profiled_graph.hpp"
#include "onednn_graph_fixture.hpp"
#include "passes/jit_graph.hpp"
#include "passes/value_bounds.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

TEST_P(OnednnGraphTest, GivesTheScoresOfTheGraphAsItIs) {
  for (const auto& between : kBetween) {
    SCOPED_TRACE(between);
    const auto net = frozen_net(weights(), fill(kNetwork, {between}));
    Compiled compiled(net, images(4));
    const auto x = images(4);
    const auto found = compiled(x);
    EXPECT_LT(error_of(found, plain_scores(net, x)), rounding());
    EXPECT_TRUE(compiled(x).equal(found));
  }
}

// oneDNN's own ReLU, clamps and maxima hide NaN, and its exponential makes infinity of it.
TEST_P(OnednnGraphTest, NanInASampleIsSeenInItsScoresAlone) {
  constexpr std::int64_t kSample = 2;
  for (const auto& between : kBetween) {
    SCOPED_TRACE(between);
    const auto net = frozen_net(weights(), fill(kNetwork, {between}));
    Compiled compiled(net, images(4));
    auto x = images(4);
    x[kSample][3][4][4].fill_(std::numeric_limits<float>::quiet_NaN());
    expect_finite(compiled(x), kSample);
  }
}

// oneDNN computes a function with arithmetic after it by its reference code, unless it follows on
// something else.
TEST_P(OnednnGraphTest, FunctionsFollowOnAFactor) {
  const auto net = frozen_net(weights(), fill(kNetwork, {"x = torch.tanh(torch.cos(x)) + 1.0"}));
  const auto graph =
      profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), images(4)}).graph;
  rewrite_for_onednn(*graph, Hidden::nothing, {});
  int found = 0;
  for (const auto* node : graph->block()->nodes()) {
    if (!is_a(node, {"aten::tanh"})) continue;
    EXPECT_TRUE(is_a(node->input(0)->node(), {"aten::mul"}));
    ++found;
  }
  EXPECT_EQ(found, 1);
}

// They are in one pass with what stands before the next layer, where oneDNN takes that.
TEST_P(OnednnGraphTest, NormalisationsBecomeArithmeticOrWeights) {
  const std::string norm =
      "torch.batch_norm({}, self.ones, self.b2, self.b1, self.b3, False, 0.1, 1e-5, True)";
  const std::string of_image = fill(norm, {"torch.square(x)"});
  const std::vector<std::pair<std::string, int>> lines{
      {"x = torch.relu(" + of_image + ")", 0},
      {"x = torch.silu(" + of_image + ")", 0},
      {"x = " + of_image, 1},
      {"x = torch.gelu(" + of_image + ", approximate=\"tanh\")", 1},
      {"x = torch.cos(torch.relu(" + of_image + "))", 1},  // a ReLU that stays with LibTorch
      {kNormalisedLinear, 0}};
  for (const auto& [between, expected] : lines) {
    SCOPED_TRACE(between);
    const auto net = frozen_net(weights(), fill(kNetwork, {between}));
    const auto graph =
        profile_shapes(*net.get_method("forward").graph(), {net._ivalue(), images(4)}).graph;
    rewrite_for_onednn(*graph, Hidden::nothing, {});
    EXPECT_EQ(
        std::ranges::count_if(graph->nodes(),
                              [](const auto* node) { return is_a(node, {"aten::batch_norm"}); }),
        expected);
  }
}

// Whole numbers of up to 256, which bfloat16 has, less a mean among them: its rounding would be a
// sixth of what is left.
TEST_P(OnednnGraphTest, NormalisationsLoseNoDigits) {
  auto named = weights();
  named.emplace_back("far", (at::rand({kChannels}) + 253).to(type()));
  const auto net = frozen_net(
      named,
      fill(kNetwork, {"x = torch.relu(torch.batch_norm(torch.trunc(torch.exp2(torch.cos(x))) + "
                      "253., self.b4, self.b2, self.far, self.b3, False, 0.1, 1e-5, True))"}));
  const auto x = images(4);
  Compiled compiled(net, x);
  EXPECT_LT(error_of(compiled(x), plain_scores(net, x)), GetParam() == at::kFloat ? 1e-5 : 0.01);
}

TEST_P(OnednnGraphTest, NanInANormalisationIsSeenInAllScores) {
  for (const auto& between : kBetween) {
    if (between.find("self.b2, self.b1, self.b3") == std::string::npos) continue;
    for (const std::size_t of : {1U, 3U, 5U}) {  // mean, bias and variance
      SCOPED_TRACE(between);
      auto named = weights();
      named[of].second[5].fill_(std::numeric_limits<float>::quiet_NaN());
      const auto net = frozen_net(named, fill(kNetwork, {between}));
      Compiled compiled(net, images(4));
      EXPECT_FALSE(at::isfinite(compiled(images(4))).any().item<bool>());
    }
  }
}

// Sums of masks, of masks and numbers, and functions of tensors without dimensions.
TEST_P(OnednnGraphTest, NetworksWithMasksAreCompiled) {
  for (const std::string mask :
       {"x = x * ((x[:, :1] > 0) + (x > 0))", "x = x * ((x > 0) + 1)",
        "x = torch.sigmoid(torch.mean(torch.cos(x))) * torch.mean(x) + x"}) {
    SCOPED_TRACE(mask);
    const auto net = frozen_net(weights(), fill(kNetwork, {mask}));
    Compiled compiled(net, images(4));
    const auto x = images(4);
    EXPECT_LT(error_of(compiled(x), plain_scores(net, x)), rounding());
  }
}

constexpr const char* kWriter = R"(
def forward(self, x):
    h = torch.relu_(x)
    x = torch.conv2d(torch.conv2d(h, self.w1, self.b1), self.w2, self.b2) + x
    x = torch.conv2d(torch.conv2d(x, self.w3, self.b3), self.w4, self.b4)
    return torch.linear(torch.mean(x, [2, 3]), self.w, self.b)
)";

TEST_P(OnednnGraphTest, WhatIsWrittenToTheInputIsReadThere) {
  const auto net = frozen_net(weights(), kWriter);
  const auto x = images(4);
  Compiled compiled(net, x.clone());
  EXPECT_LT(error_of(compiled(x.clone()), plain_scores(net, x.clone())), rounding());
}

// Large numbers of both signs meet in the next sum.
TEST_P(OnednnGraphTest, OverflowInASampleIsSeenInItsScores) {
  constexpr std::int64_t kSample = 1;
  for (const std::string between :
       {"x = torch.relu(x)", "x = torch.silu(x)", "x = torch.gelu(x)"}) {
    SCOPED_TRACE(between);
    const auto net = frozen_net(weights(), fill(kNetwork, {between}));
    Compiled compiled(net, images(4));
    auto x = images(4);
    x[kSample].mul_(1e38);
    ASSERT_FALSE(at::isfinite(plain_scores(net, x)[kSample]).all().item<bool>());
    expect_finite(compiled(x), kSample);
  }
}

// Only clamps that follow on what may be NaN keep a network from being compiled.
TEST_P(OnednnGraphTest, NanInAWeightIsSeenInAllScores) {
  std::size_t num_compiled = 0;
  for (const auto& between : kBetween) {
    SCOPED_TRACE(between);
    auto named = weights();
    named[2].second[5].fill_(std::numeric_limits<float>::quiet_NaN());  // w2
    const auto net = frozen_net(named, fill(kNetwork, {between}));
    CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
    const c10::InferenceMode guard;
    const auto x = images(4);
    module.warm_up({x});
    if (module.form().find("oneDNN Graph") != std::string::npos) ++num_compiled;
    EXPECT_FALSE(at::isfinite(module.run({x}).toTensor()).any().item<bool>());
  }
  EXPECT_GT(2 * num_compiled, kBetween.size());
}

// As MobileNetV2 has them: a clamp after most layers.
constexpr const char* kInvertedResidual = R"(
def forward(self, x):
    h = torch.hardtanh(torch.conv2d(x, self.w1, self.b1), 0., 6.)
    h = torch.conv2d(h, self.depthwise, self.b2, [1, 1], [1, 1], [1, 1], 16)
    x = torch.conv2d(torch.hardtanh(h, 0., 6.), self.w3, self.b3) + x
    x = torch.hardtanh(torch.conv2d(x, self.w4, self.b4), 0., 6.)
    return torch.linear(torch.mean(x, [2, 3]), self.w, self.b)
)";

TEST_P(OnednnGraphTest, ClampsOfFiniteNumbersAreTaken) {
  const auto net = frozen_net(weights(), kInvertedResidual);
  Compiled compiled(net, images(4));
  const auto x = images(4);
  const auto found = compiled(x);
  EXPECT_LT(error_of(found, plain_scores(net, x)), rounding());
  for (const double number : {std::nan(""), HUGE_VAL, -HUGE_VAL, 2 * kLargestInput}) {
    SCOPED_TRACE(number);
    auto other = x.clone();
    other[2][3][4][4].fill_(number);
    const auto plain = plain_scores(net, other);
    EXPECT_TRUE(at::allclose(compiled(other), plain, 0, 0, /*equal_nan=*/true));
    EXPECT_EQ(at::isfinite(plain[2]).all().item<bool>(), !std::isnan(number));
    EXPECT_TRUE(compiled(x).equal(found));
  }
}

// Of infinities of both signs comes NaN, for inputs as they should be.
TEST_P(OnednnGraphTest, ClampsOfWhatMayOverflowAreNotTaken) {
  const std::string overflow = "x = torch.conv2d(x, self.w1, self.b1)\n    x = ";
  for (const std::string clamp : {"torch.relu6(x)", "torch.hardtanh(x, -1., 1.)",
                                  "torch.clamp(x, 0., 6.)", "torch.hardtanh(x * 1e-30, 0., 6.)"}) {
    SCOPED_TRACE(clamp);
    auto named = weights();
    for (const std::size_t layer : {0U, 2U}) named[layer].second.mul_(1e20);
    const auto net = frozen_net(named, fill(kNetwork, {overflow + clamp}));
    Compiled compiled(net, images(4));
    const auto x = images(4);
    ASSERT_FALSE(at::isfinite(plain_scores(net, x)).any().item<bool>());
    EXPECT_FALSE(at::isfinite(compiled(x)).any().item<bool>());
  }
}

// Apart from the layers such clamps cost what fusing the rest saves.
TEST_P(OnednnGraphTest, NetworksWhoseClampsAreNotTakenRunPlainly) {
  auto named = weights();
  for (const std::size_t layer : {0U, 2U, 4U, 6U}) named[layer].second.mul_(1e36);
  const auto net = frozen_net(named, kInvertedResidual);
  CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
  const c10::InferenceMode guard;
  module.warm_up({images(4)});
  EXPECT_THAT(module.form(), testing::Not(testing::HasSubstr("oneDNN Graph")));
}

TEST_P(OnednnGraphTest, FormsSayWhichInputsRunCompiled) {
  const auto net = frozen_net(weights(), kInvertedResidual);
  CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
  const c10::InferenceMode guard;
  module.warm_up({images(4)});
  EXPECT_EQ(module.form(), "oneDNN Graph for inputs of at most 10000");
}

// LibTorch's fuser lets a sum be written over a side that is read again: the stream before it.
constexpr const char* kStream = R"(
def forward(self, x):
    a = torch.conv2d(x, self.w1, self.b1)
    b = a + torch.conv2d(torch.hardswish(a * self.ones.reshape([1, -1, 1, 1])), self.w2, self.b2)
    c = b + torch.conv2d(torch.hardswish(b * self.ones.reshape([1, -1, 1, 1])), self.w3, self.b3)
    d = c + torch.conv2d(torch.hardswish(c * self.ones.reshape([1, -1, 1, 1])), self.w4, self.b4)
    x = torch.mean(torch.cat([a, b, c, d, x.contiguous()], 1), [2, 3])
    return torch.linear(x[:, 5:21], self.w, self.b)
)";

TEST_P(OnednnGraphTest, WhatIsReadAgainIsNotWrittenOver) {
  const auto net = frozen_net(weights(), kStream);
  Compiled compiled(net, images(4));
  const auto x = images(4);
  EXPECT_LT(error_of(compiled(x), plain_scores(net, x)), rounding());
}

// As RepViT and MobileOne have them: a sum takes what its layers take.
constexpr const char* kBranches = R"(
def forward(self, x):
    x = torch.conv2d(x, self.w1, self.b1)
    near = torch.conv2d(x, self.depthwise, self.b2, [1, 1], [1, 1], [1, 1], 16)
    {}
    x = torch.conv2d(torch.conv2d(x, self.w2, self.b2), self.w3, self.b3)
    return torch.linear(torch.mean(x, [2, 3]), self.w, self.b)
)";

TEST_P(OnednnGraphTest, WhatIsReadTwiceIsCountedOnce) {
  for (const std::string sum :
       {"x = near + x", "x = near + torch.conv2d(x, self.w4, self.b4) + x",
        "x = torch.conv2d(x, self.w4, self.b4) + near + x", "x = x + near * x",
        "x = (near + x) * x", "x = torch.hardswish(near + x) + torch.conv2d(x, self.w4) + x",
        "x = (near + x) * (near * x)", "x = x + x", "x = x * torch.sigmoid(x)",
        "x = torch.erf(x)\n    x = x * torch.sigmoid(x)"}) {
    SCOPED_TRACE(sum);
    const auto net = frozen_net(weights(), fill(kBranches, {sum}));
    Compiled compiled(net, images(4));
    const auto x = images(4);
    EXPECT_LT(error_of(compiled(x), plain_scores(net, x)), rounding());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OnednnGraphTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
