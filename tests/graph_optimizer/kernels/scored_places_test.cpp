// SPDX-License-Identifier: Apache-2.0
#include <tally/graph_optimizer/scored_places.hpp>

#include <memory>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "onednn/profiled_graph.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr std::int64_t kWidth = 24, kTokens = 40;

class Net {
 public:
  explicit Net(const std::string& forward)
      : net_(frozen_net({{"w", at::randn({kTokens, kWidth})}, {"b", at::randn({kTokens})}},
                        "def forward(self, x):\n" + forward)),
        graph_(net_.get_method("forward").graph()->copy()),
        plain_(graph_->copy(), "plain"),
        is_rewritten(score_at_places(*graph_)),
        code_(graph_, "at places") {}

  at::Tensor plain(const at::Tensor& x) const { return run(plain_, x); }
  at::Tensor at_places(const at::Tensor& x, const at::Tensor& places) const {
    const ScoredPlaces only(places);
    return run(code_, x);
  }

 private:
  at::Tensor run(const torch::jit::Code& code, const at::Tensor& x) const {
    const c10::InferenceMode guard;
    return run_code(code, {net_._ivalue(), x}).toTensor();
  }

  torch::jit::Module net_;
  std::shared_ptr<torch::jit::Graph> graph_;
  torch::jit::Code plain_;

 public:
  const bool is_rewritten;

 private:
  torch::jit::Code code_;
};

constexpr const char* kLast = "  return torch.linear(torch.relu(x), self.w, self.b)\n";

TEST(ScoredPlacesTest, ScoresOfTheWantedPlacesAreThoseOfAll) {
  const Net net(kLast);
  ASSERT_TRUE(net.is_rewritten);
  const auto x = at::randn({3, 5, kWidth});
  const auto places = at::randn({3, 5}) > 0;
  const auto all = net.plain(x);
  const auto some = net.at_places(x, places);
  ASSERT_EQ(some.sizes(), all.sizes());
  EXPECT_TRUE(at::allclose(some.index({places}), all.index({places}), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(net.at_places(x, at::ones({3, 5}, at::kBool)), all, 1e-5, 1e-5));
  EXPECT_EQ(net.at_places(x, at::zeros({3, 5}, at::kBool)).sizes(), all.sizes());
}

TEST(ScoredPlacesTest, WithoutThemOrOfAnotherShapeAllAreComputed) {
  const Net net(kLast);
  const auto x = at::randn({3, 5, kWidth});
  for (const auto& places : {at::Tensor(), at::zeros({3, 4}, at::kBool)}) {
    EXPECT_TRUE(at::allclose(net.at_places(x, places), net.plain(x), 1e-5, 1e-5));
  }
  const auto rows = at::randn({15, kWidth});
  EXPECT_TRUE(
      at::allclose(net.at_places(rows, at::zeros({3, 5}, at::kBool)), net.plain(rows), 1e-5, 1e-5));
}

TEST(ScoredPlacesTest, TheyHoldOnlyAsLongAsTheScope) {
  const Net net(kLast);
  const auto x = at::randn({2, 4, kWidth});
  net.at_places(x, at::zeros({2, 4}, at::kBool));
  EXPECT_TRUE(at::allclose(net.at_places(x, {}), net.plain(x), 1e-5, 1e-5));
}

TEST(ScoredPlacesTest, OtherGraphsStayAsTheyAre) {
  EXPECT_FALSE(Net("  return torch.relu(torch.linear(x, self.w, self.b))\n").is_rewritten);
  EXPECT_FALSE(Net("  return torch.linear(x, torch.relu(x)[0], None)\n").is_rewritten);
  EXPECT_FALSE(
      Net("  y = torch.linear(x, self.w, self.b)\n  y.relu_()\n  return y\n").is_rewritten);
}

}  // namespace
}  // namespace tally::graph_optimizer
