// SPDX-License-Identifier: Apache-2.0
// Batch normalisations as arithmetic and in weights, beside what they were before.
#include "onednn/normalisation_rewrites.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ops/isnan.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "passes/jit_graph.hpp"
#include "rewritten_net.hpp"

namespace tally::graph_optimizer {
namespace {

class BatchNormsTest : public OnednnGraphTest {};

void replace_all(torch::jit::Graph& graph) {
  for (auto* const node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::batch_norm"})) replace_by_arithmetic(graph, node);
  }
}

// What a function gives whose last line is `returned`, of images `x`.
class Rewritten : public RewrittenNet {
 public:
  Rewritten(const std::string& returned, const at::Tensor& x,
            void (*rewrite)(torch::jit::Graph&) = replace_all, const std::string& before = "")
      : RewrittenNet({{"w", of_channels(x, at::randn({x.size(1)}))},
                      {"b", of_channels(x, at::randn({x.size(1)}))},
                      {"m", of_channels(x, at::randn({x.size(1)}))},
                      {"v", of_channels(x, at::rand({x.size(1)}) + 0.1)},
                      {"linear", of_channels(x, at::randn({x.size(1), x.size(3)}))}},
                     "def forward(self, x):\n" + before + "    return " + returned + "\n", x,
                     rewrite) {}

  bool normalises() const {
    return std::ranges::any_of(graph().nodes(), [](const torch::jit::Node* node) {
      return is_a(node, {"aten::batch_norm"});
    });
  }

 private:
  static at::Tensor of_channels(const at::Tensor& x, const at::Tensor& values) {
    return values.to(x.options());
  }
};

std::string norm(const std::string& x, const std::string& rest = "self.w, self.b, self.m, self.v") {
  return "torch.batch_norm(" + x + ", " + rest + ", False, 0.1, 1e-5, True)";
}

TEST_P(BatchNormsTest, IsReplacedByArithmetic) {
  const auto x = images(4);
  for (const std::string& returned : std::vector<std::string>{
           norm("x"),
           "torch.relu(" + norm("torch.cos(x)") + ")",
           norm("torch.cat([x, x[:, :8]], 1)[:, :16] + 1.0"),
           norm("x", "None, None, self.m, self.v"),
           norm("x", "self.w, None, self.m, self.v"),
           norm("torch.mean(x, [2, 3])"),
       }) {
    SCOPED_TRACE(returned);
    const Rewritten replaced(returned, x);
    EXPECT_FALSE(replaced.normalises());
    EXPECT_LT(error_of(replaced(x), replaced.plain(x)), GetParam() == at::kFloat ? 1e-5 : 0.02);
  }
}

TEST_P(BatchNormsTest, OthersStay) {
  const auto x = images(4);
  for (const std::string& returned : std::vector<std::string>{
           norm("torch.cat([x, x], 1)[:, 8:24]"),
           norm("x.reshape([4, 16, 2, 4, 8])"),
           norm("x", "self.w, self.b, torch.mean(x, [0, 2, 3]), self.v"),
           "torch.batch_norm(x, self.w, self.b, None, None, True, 0.1, 1e-5, True)",
       }) {
    SCOPED_TRACE(returned);
    const Rewritten replaced(returned, x);
    EXPECT_TRUE(replaced.normalises());
    EXPECT_TRUE(replaced(x).equal(replaced.plain(x)));
  }
}

TEST_P(BatchNormsTest, OfFloat16Stay) {
  const auto x = images(4).to(at::kHalf);
  EXPECT_TRUE(Rewritten(norm("x"), x).normalises());
}

TEST_P(BatchNormsTest, KeepsNan) {
  auto x = images(4);
  x.flatten()[100] = std::numeric_limits<float>::quiet_NaN();
  const Rewritten replaced("torch.relu(" + norm("x") + ")", x);
  EXPECT_TRUE(replaced(x).isnan().equal(x.isnan()));
}

// `y` has 16 results for each row of an image, as many as the normalisation has channels.
void fold_all(torch::jit::Graph& graph) {
  fold_into_linear_layers(graph);
  torch::jit::EliminateDeadCode(graph.block());
}

TEST_P(BatchNormsTest, IsFoldedIntoALinearLayerThroughItsShape) {
  const auto x = images(4);
  for (const char* const bias : {"None", "self.b"}) {
    SCOPED_TRACE(bias);
    const std::string before = std::string("    y = torch.linear(x, self.linear, ") + bias + ")\n";
    const auto flat = norm("y.flatten(0, 2)");
    for (const std::string& returned :
         {flat + ".reshape_as(y)", flat + ".view(y.shape)", "torch.relu(" + flat + ".view_as(y))",
          norm("y.reshape([-1, 16])") + ".reshape(y.shape)"}) {
      SCOPED_TRACE(returned);
      const Rewritten folded(returned, x, fold_all, before);
      EXPECT_FALSE(folded.normalises());
      EXPECT_LT(error_of(folded(x), folded.plain(x)), GetParam() == at::kFloat ? 1e-6 : 0.02);
    }
  }
}

TEST_P(BatchNormsTest, IsNotFoldedElsewhere) {
  const auto x = images(4);
  const std::string before =
      "    y = torch.linear(x, self.linear, self.b)\n"
      "    z = torch.linear(x, self.linear[:8], self.b[:8])\n";
  const auto flat = norm("y.flatten(0, 2)");
  for (const std::string& returned : std::vector<std::string>{
           flat + ".reshape_as(y) + y",                       // another reader
           flat + ".view([64, -1, 16])",                      // another shape
           norm("y.transpose(1, 3)") + ".transpose(1, 3)",    // no reshape
           norm("z.reshape([-1, 16])") + ".reshape_as(z)",    // other channels
           "torch.flatten(y, 0, 2).reshape_as(" + flat + ")"  // of what was not normalised
       }) {
    SCOPED_TRACE(returned);
    const Rewritten folded(returned, x, fold_all, before);
    EXPECT_TRUE(folded.normalises() || returned.starts_with("torch.flatten"));
    EXPECT_TRUE(folded(x).equal(folded.plain(x)));
  }
}

TEST_P(BatchNormsTest, ALayerThatSharesItsWeightKeepsIts) {
  const auto x = images(4);
  const std::string before = "    y = torch.linear(x, self.linear, self.b)\n";
  const Rewritten folded(norm("y.flatten(0, 2)") + ".reshape_as(y) + torch.linear(x, self.linear)",
                         x, fold_all, before);
  EXPECT_FALSE(folded.normalises());
  EXPECT_LT(error_of(folded(x), folded.plain(x)), GetParam() == at::kFloat ? 1e-6 : 0.02);
}

INSTANTIATE_TEST_SUITE_P(Types, BatchNormsTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::graph_optimizer
