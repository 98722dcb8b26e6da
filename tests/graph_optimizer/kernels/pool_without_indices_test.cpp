// SPDX-License-Identifier: Apache-2.0
// Pools of compiled TorchScript against LibTorch's own max_pool2d.
#include "kernels/pool_without_indices.hpp"

#include <cmath>
#include <limits>

#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/jit.h>

namespace tally::graph_optimizer {
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

struct Settings {
  std::vector<std::int64_t> size, stride, padding, dilation;
  bool ceil_mode;

  std::string text() const {
    const auto list = [](const auto& numbers) {
      return c10::str("[", c10::Join(", ", numbers), "]");
    };
    return c10::str(list(size), ", ", list(stride), ", ", list(padding), ", ", list(dilation), ", ",
                    ceil_mode ? "True" : "False");
  }
  at::Tensor of(const at::Tensor& x) const {
    return at::max_pool2d(x, size, stride, padding, dilation, ceil_mode);
  }
};

const std::vector<Settings> kSettings{
    {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
    {{3, 3}, {2, 2}, {0, 0}, {1, 1}, false}, {{2, 3}, {1, 2}, {1, 0}, {1, 1}, false},
    {{5, 4}, {3, 1}, {0, 2}, {1, 1}, false}, {{1, 1}, {2, 3}, {0, 0}, {1, 1}, false},
    {{3, 3}, {2, 2}, {1, 1}, {1, 1}, true},  {{2, 2}, {2, 2}, {1, 1}, {2, 2}, false},
    {{3, 3}, {2, 2}, {0, 0}, {1, 1}, true},  {{2, 2}, {2, 2}, {1, 1}, {1, 1}, true},
    {{2, 2}, {3, 3}, {0, 0}, {1, 1}, true},  {{2, 2}, {}, {0, 0}, {1, 1}, false}};

TEST(PoolTest, GivesWhatMaxPoolGives) {
  at::set_num_threads(1);
  const std::vector<std::vector<std::int64_t>> shapes{{3, 5, 8, 8}, {3, 20, 7, 6}, {1, 67, 6, 9},
                                                      {2, 4, 5, 5}, {1, 1, 12, 5}, {2, 9, 31, 30}};
  for (const auto& settings : kSettings) {
    const auto pooled = pool(settings.text());
    ASSERT_EQ(pooled.num_replaced(), 1);
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
      for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        for (const auto& shape : shapes) {
          const auto x = with_extremes(shape, format, type);
          SCOPED_TRACE(settings.text() + x.toString() + testing::PrintToString(shape));
          expect_same(pooled(x), settings.of(x));
        }
      }
    }
  }
}

TEST(PoolTest, ReplacesEveryWayOfSayingTwoByTwo) {
  at::set_num_threads(1);
  for (const auto* settings : {"[2, 2]", "2", "2, 2", "[2], [2], [0], [1]", "[2, 2], []"}) {
    const auto pooled = pool(settings);
    EXPECT_EQ(pooled.num_replaced(), 1) << settings;
    const at::Tensor x = at::randn({2, 3, 6, 7}).contiguous(at::MemoryFormat::ChannelsLast);
    expect_same(pooled(x), at::max_pool2d(x, {2, 2}));
  }
}

// Unlike LibTorch's, which keeps the first of equal ones: so this is no other's work.
TEST(PoolTest, ZeroIsLargerThanMinusZero) {
  at::set_num_threads(1);
  for (const auto& settings : kSettings) {
    const bool is_ours = settings.dilation[0] == 1;
    const auto pooled = pool(settings.text());
    for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      const at::Tensor is_positive = at::randn({2, 5, 19, 18}).gt(0.8).to(at::kFloat);
      const at::Tensor zeros = is_positive.sub(0.5).mul(0.0).to(type);
      const auto x = zeros.contiguous(at::MemoryFormat::ChannelsLast);
      const auto has_positive = settings.of(is_positive).gt(0);
      const auto found = pooled(x).signbit().logical_not();
      EXPECT_EQ(found.equal(has_positive), is_ours) << settings.text();
    }
  }
}

TEST(PoolTest, SeveralThreadsShareLibTorchs) {
  at::set_num_threads(2);
  const auto pooled = pool("3, 2, 1");
  at::Tensor x = at::full({1, 3, 4, 4}, -0.0).contiguous(at::MemoryFormat::ChannelsLast);
  x.select(2, 1).fill_(0.0);
  const auto found = pooled(x);
  at::set_num_threads(1);
  EXPECT_TRUE(found.signbit().any().item<bool>());
  EXPECT_FALSE(pooled(x).signbit().any().item<bool>());
}

TEST(PoolTest, ZeroIsLargerWhereverItStands) {
  at::set_num_threads(1);
  const auto pooled = pool("2");
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (int place = 0; place < 4; ++place) {
      at::Tensor x =
          at::full({1, 3, 2, 2}, -0.0).to(type).contiguous(at::MemoryFormat::ChannelsLast);
      x.select(2, place / 2).select(2, place % 2).fill_(0.0);
      EXPECT_FALSE(pooled(x).signbit().any().item<bool>()) << place;
    }
  }
}

TEST(PoolTest, NanOfEitherSignIsTheMaximum) {
  at::set_num_threads(1);
  const auto pooled = pool("2");
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const double nan : {std::nan(""), -std::nan("")}) {
      at::Tensor x =
          at::full({1, 3, 2, 2}, HUGE_VAL).to(type).contiguous(at::MemoryFormat::ChannelsLast);
      x.select(2, 1).select(2, 0).fill_(nan);
      EXPECT_TRUE(pooled(x).isnan().all().item<bool>());
    }
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
  const at::Tensor x = at::randn({2, 3, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast);
  for (const auto* settings : {"0", "2, 0", "2, 2, -1", "2, 2, 2", "2, 2, 0, 0", "[2, 2, 2]", "9",
                               "2, 2, [0, 0, 0]", "2, 2, 0, [1, 1, 1]"}) {
    EXPECT_THROW(pool(settings)(x), std::exception) << settings;
  }
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
  at::set_num_threads(1);
  const at::Tensor x = at::ones({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor ones = at::ones({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  expect_same(pooled(x), ones.mul(104));
}

}  // namespace
}  // namespace tally::graph_optimizer
