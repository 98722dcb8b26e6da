// SPDX-License-Identifier: Apache-2.0
// Linear layers by oneDNN beside LibTorch's own.
#include "onednn/linear_layers.hpp"

#include <limits>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "calls.hpp"
#include "onednn/profiled_graph.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr std::int64_t kIn = 256;
constexpr std::int64_t kOut = 320;

NamedWeights weights(at::ScalarType type = at::kFloat) {
  return {{"w", at::randn({kOut, kIn}).to(type)},
          {"wt", at::randn({kIn, kOut}).to(type)},
          {"few", at::randn({10, kOut}).to(type)},
          {"b", at::randn({kOut}).to(type)},
          {"row", at::randn({1, kOut}).to(type)}};
}

// A network in both forms.
class Both {
 public:
  explicit Both(const std::string& forward, const NamedWeights& named = weights())
      : net_(frozen_net(named, "def forward(self, x):\n" + forward)),
        graph_(net_.get_method("forward").graph()->copy()),
        plain_(graph_->copy(), "plain"),
        num_layers_(use_onednn_linear(*graph_)),
        code_(graph_, "by oneDNN") {}

  int num_layers() const { return num_layers_; }
  at::Tensor plain(const at::Tensor& x) const { return run(plain_, x); }
  at::Tensor operator()(const at::Tensor& x) const { return run(code_, x); }

 private:
  at::Tensor run(const torch::jit::Code& code, const at::Tensor& x) const {
    const c10::InferenceMode guard;
    return run_code(code, {net_._ivalue(), x}).toTensor();
  }

  torch::jit::Module net_;
  std::shared_ptr<torch::jit::Graph> graph_;
  torch::jit::Code plain_;
  int num_layers_;
  torch::jit::Code code_;
};

TEST(LinearLayersTest, GiveTheSameWhateverTheRows) {
  for (const char* layer : {"torch.linear(x, self.w, self.b)", "torch.linear(x, self.w, None)",
                            "torch.linear(x, self.w, self.row)"}) {
    const Both net(std::string("    return torch.relu(") + layer + ")\n");
    ASSERT_EQ(net.num_layers(), 1) << layer;
    for (const auto& x : {at::randn({3, kIn}), at::randn({1, kIn}), at::randn({2, 7, kIn}),
                          at::randn({7, 2, kIn}).transpose(0, 1), at::randn({kIn, 5}).t(),
                          at::randn({0, kIn}), at::randn({kIn})}) {
      const auto found = net(x);
      EXPECT_TRUE(at::allclose(found, net.plain(x), 1e-4, 1e-3)) << layer << x.sizes();
      EXPECT_EQ(found.sizes(), net.plain(x).sizes());
    }
  }
}

TEST(LinearLayersTest, ProductsWithTransposedWeightsAreSuch) {
  const Both net("    return torch.addmm(self.b, x, self.wt)\n");
  ASSERT_EQ(net.num_layers(), 1);
  const auto x = at::randn({5, kIn});
  EXPECT_TRUE(at::allclose(net(x), net.plain(x), 1e-4, 1e-3));
  for (const char* other : {"torch.addmm(self.b, x, self.wt, beta=2)",
                            "torch.addmm(self.b, x, self.wt, alpha=2)", "torch.mm(x, self.wt)"}) {
    EXPECT_EQ(Both(std::string("    return ") + other + "\n").num_layers(), 0) << other;
  }
}

TEST(LinearLayersTest, RunInOnednnWhereItTakesThem) {
  const Both net("    return torch.linear(x, self.w, self.b)\n");
  for (const auto& [x, count] : {std::pair{at::randn({3, kIn}), 1},
                                 {at::randn({2, 7, kIn}), 1},
                                 {at::randn({kIn}), 0},
                                 {at::randn({0, kIn}), 0}}) {
    Calls calls;
    net(x);
    EXPECT_EQ(calls.of("mkldnn::_linear_pointwise"), count) << x.sizes();
  }
}

TEST(LinearLayersTest, WhatWritesToATensorThatIsGivenStays) {
  for (const char* layer :
       {"torch.linear(x, self.w, self.b, out=y)", "torch.addmm(self.b, x, self.wt, out=y)"}) {
    const Both net("    y = torch.empty([0])\n    return " + std::string(layer) + " + y\n");
    EXPECT_EQ(net.num_layers(), 0) << layer;
    const auto x = at::randn({3, kIn});
    EXPECT_TRUE(net(x).equal(net.plain(x))) << layer;
  }
}

TEST(LinearLayersTest, ThoseOfBranchesToo) {
  const Both net(
      "    if bool(x.sum() > 0):\n"
      "        return torch.linear(x, self.w, None)\n"
      "    return torch.linear(-x, self.w, self.b)\n");
  EXPECT_EQ(net.num_layers(), 2);
  for (const auto& x : {at::randn({4, kIn}).abs(), -at::randn({4, kIn}).abs()}) {
    EXPECT_TRUE(at::allclose(net(x), net.plain(x), 1e-4, 1e-3));
  }
}

TEST(LinearLayersTest, NanReachesTheSamePlaces) {
  const Both net("    return torch.linear(x, self.w, self.b)\n");
  auto x = at::randn({4, kIn});
  x[2][17] = std::numeric_limits<float>::quiet_NaN();
  const auto is_nan = net(x).isnan();
  EXPECT_TRUE(is_nan.equal(net.plain(x).isnan()));
  EXPECT_TRUE(is_nan[2].all().item<bool>());
}

TEST(LinearLayersTest, SmallOnesAndOtherTypesStay) {
  const std::string small = "    return torch.linear(x, self.few, None)\n";
  EXPECT_EQ(Both(small).num_layers(), 0);
  const std::string large = "    return torch.linear(x, self.w, self.b)\n";
  for (const auto type : {at::kBFloat16, at::kDouble}) {
    EXPECT_EQ(Both(large, weights(type)).num_layers(), 0);
  }
}

TEST(LinearLayersTest, WhatIsWrongWithAnInputIsForLibTorchToSay) {
  const Both net("    return torch.linear(x, self.w, None)\n");
  for (const auto& x : {at::randn({3, kIn + 1}), at::randn({3, kIn}).to(at::kDouble)}) {
    const auto message = [&](const auto& run) -> std::string {
      try {
        run(x);
      } catch (const std::exception& error) {
        const std::string text = error.what();
        return text.substr(text.find("RuntimeError"), 80);
      }
      return "no error";
    };
    EXPECT_EQ(message(net), message([&](const at::Tensor& given) { return net.plain(given); }));
    EXPECT_NE(message(net), "no error");
  }
}

}  // namespace
}  // namespace tally::graph_optimizer
