// Batch normalisations as products and sums, beside what they were before.
#include "batch_norm_arithmetic.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ops/isnan.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "graph_edit.hpp"
#include "rewritten_net.hpp"

namespace tally::model {
namespace {

class BatchNormArithmeticTest : public OnednnGraphTest {};

void replace_all(torch::jit::Graph& graph) {
  for (auto* const node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::batch_norm"})) replace_by_arithmetic(graph, node);
  }
}

// What a function gives whose line is `returned`, of images `x`.
class Replaced : public RewrittenNet {
 public:
  Replaced(const std::string& returned, const at::Tensor& x)
      : RewrittenNet({{"w", of_channels(x, at::randn({x.size(1)}))},
                      {"b", of_channels(x, at::randn({x.size(1)}))},
                      {"m", of_channels(x, at::randn({x.size(1)}))},
                      {"v", of_channels(x, at::rand({x.size(1)}) + 0.1)}},
                     "def forward(self, x):\n    return " + returned + "\n", x, replace_all) {}

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

TEST_P(BatchNormArithmeticTest, IsReplacedBeforeAFunction) {
  const auto x = images(4);
  for (const std::string& returned : std::vector<std::string>{
           "torch.relu(" + norm("x") + ")",
           "torch.silu(" + norm("torch.cat([x, x[:, :8]], 1)[:, :16] + 1.0") + ")",
           "torch.gelu(" + norm("torch.cos(x)") + ")",
           "torch.relu(" + norm("x", "None, None, self.m, self.v") + ")",
           "torch.relu(" + norm("x", "self.w, None, self.m, self.v") + ")",
           "torch.relu(" + norm("torch.mean(x, [2, 3])") + ")",
       }) {
    SCOPED_TRACE(returned);
    const Replaced replaced(returned, x);
    EXPECT_FALSE(replaced.normalises());
    EXPECT_LT(error_of(replaced(x), replaced.plain(x)), GetParam() == at::kFloat ? 1e-6 : 0.02);
  }
}

TEST_P(BatchNormArithmeticTest, StaysElsewhere) {
  const auto x = images(4);
  for (const std::string& returned : std::vector<std::string>{
           norm("x"),
           "torch.conv2d(" + norm("x") + ", torch.ones([4, 16, 1, 1]).to(x))",
           "torch.relu(" + norm("torch.cat([x, x], 1)[:, 8:24]") + ")",
           "torch.relu(" + norm("x", "self.w, self.b, torch.mean(x, [0, 2, 3]), self.v") + ")",
           "torch.relu(torch.batch_norm(x, self.w, self.b, None, None, True, 0.1, 1e-5, True))",
       }) {
    SCOPED_TRACE(returned);
    const Replaced replaced(returned, x);
    EXPECT_TRUE(replaced.normalises());
    EXPECT_TRUE(replaced(x).equal(replaced.plain(x)));
  }
}

TEST_P(BatchNormArithmeticTest, KeepsNan) {
  auto x = images(4);
  x.flatten()[100] = std::numeric_limits<float>::quiet_NaN();
  const Replaced replaced("torch.relu(" + norm("x") + ")", x);
  EXPECT_TRUE(replaced(x).isnan().equal(x.isnan()));
}

INSTANTIATE_TEST_SUITE_P(Types, BatchNormArithmeticTest, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return c10::toString(type.param); });

}  // namespace
}  // namespace tally::model
