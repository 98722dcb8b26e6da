// Pools of compiled TorchScript against LibTorch's own max_pool2d.
#include "pool_without_indices.hpp"

#include <cmath>
#include <limits>

#include <ATen/ops/allclose.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/jit.h>

namespace tally::model {
namespace {

// A function f(x) with its pools replaced.
class Pooled {
 public:
  explicit Pooled(const std::string& body)
      : unit_(torch::jit::compile("def f(x):\n" + body)), function_(unit_->get_function("f")) {
    auto graph = torch::jit::toGraphFunction(function_).graph();
    torch::jit::ConstantPropagation(graph);
    num_replaced_ = pool_without_indices(*graph);
  }

  int num_replaced() const { return num_replaced_; }

  at::Tensor operator()(const at::Tensor& x) const {
    const c10::InferenceMode guard;
    return function_({x}).toTensor();
  }

 private:
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  torch::jit::Function& function_;
  int num_replaced_ = 0;
};

// One pool, with what follows x in max_pool2d's brackets.
Pooled pool(const std::string& settings) {
  return Pooled("    return torch.max_pool2d(x, " + settings + ")\n");
}

at::Tensor with_extremes(at::IntArrayRef sizes, at::MemoryFormat format, at::ScalarType type) {
  at::Tensor x = at::randn(sizes).to(type).contiguous(format);
  x.masked_fill_(x.gt(1.6), std::numeric_limits<double>::infinity());
  x.masked_fill_(x.lt(-0.5), -std::numeric_limits<double>::infinity());
  return x.masked_fill_(x.abs().lt(0.1), std::nan(""));
}

void expect_same(const at::Tensor& found, const at::Tensor& expected) {
  EXPECT_EQ(found.sizes(), expected.sizes());
  EXPECT_EQ(found.strides(), expected.strides());
  EXPECT_EQ(found.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::allclose(found, expected, 0.0, 0.0, /*equal_nan=*/true));
}

TEST(PoolTest, GivesWhatMaxPoolGives) {
  const auto pooled = pool("[2, 2], [2, 2], [0, 0], [1, 1], False");
  ASSERT_EQ(pooled.num_replaced(), 1);
  const std::vector<std::vector<std::int64_t>> shapes{{3, 5, 8, 8}, {3, 20, 7, 6}, {1, 16, 6, 9},
                                                      {2, 4, 5, 5}, {1, 1, 12, 3}, {4, 3, 2, 2},
                                                      {2, 9, 3, 3}};
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      for (const auto& shape : shapes) {
        const auto x = with_extremes(shape, format, type);
        SCOPED_TRACE(x.toString() + testing::PrintToString(shape));
        expect_same(pooled(x), at::max_pool2d(x, {2, 2}));
      }
    }
  }
}

TEST(PoolTest, ReplacesEveryWayOfSayingTwoByTwo) {
  for (const auto* settings : {"[2, 2]", "2", "2, 2", "[2], [2], [0], [1]", "[2, 2], []"}) {
    const auto pooled = pool(settings);
    EXPECT_EQ(pooled.num_replaced(), 1) << settings;
    const auto x = at::randn({2, 3, 6, 7});
    expect_same(pooled(x), at::max_pool2d(x, {2, 2}));
  }
}

TEST(PoolTest, LeavesOthersAlone) {
  for (const auto* settings :
       {"[3, 3], [2, 2]", "[2, 3], [2, 2]", "[2, 2], [1, 1]", "[2, 2], [2, 1]",
        "[2, 2], [2, 2], [1, 1]", "[2, 2], [2, 2], [0, 0], [2, 2]",
        "[2, 2], [2, 2], [0, 0], [1, 1], True", "[x.size(0), 2], [2, 2]"}) {
    EXPECT_EQ(pool(settings).num_replaced(), 0) << settings;
  }
}

// Only the run shows them.
TEST(PoolTest, OtherTensorsAndErrorsAreLibTorchsOwn) {
  const auto pooled = pool("2");
  for (const auto& x : {at::randn({3, 6, 7}), at::randn({2, 3, 4, 4}).to(at::kLong)}) {
    expect_same(pooled(x), at::max_pool2d(x, {2, 2}));
  }
  for (const auto& x : {at::randn({2, 3, 1, 8}), at::randn({2, 3, 8, 1}), at::randn({2, 0, 8, 8}),
                        at::randn({2, 3})}) {
    EXPECT_THROW(pooled(x), std::exception) << x.sizes();
  }
  expect_same(pooled(at::ones({0, 3, 4, 4})), at::ones({0, 3, 2, 2}));
}

TEST(PoolTest, ReplacesThoseInBranches) {
  const Pooled pooled(R"(
    if x.size(0) > 1:
        x = torch.max_pool2d(x, 2)
    return torch.max_pool2d(x, 2)
)");
  EXPECT_EQ(pooled.num_replaced(), 2);
  const auto x = at::randn({2, 3, 9, 8});
  expect_same(pooled(x), at::max_pool2d(at::max_pool2d(x, {2, 2}), {2, 2}));
}

// What is written over what was pooled does not change the outcome, nor the other way round.
TEST(PoolTest, ResultsAreNewMemory) {
  const Pooled pooled(R"(
    before = torch.max_pool2d(x, 2)
    x.add_(1)
    after = torch.max_pool2d(x, 2)
    before.mul_(100)
    return before + after + torch.max_pool2d(x, 2)
)");
  EXPECT_EQ(pooled.num_replaced(), 3);
  const at::Tensor x = at::ones({2, 3, 4, 4});
  expect_same(pooled(x), at::ones({2, 3, 2, 2}).mul(104));
}

}  // namespace
}  // namespace tally::model
