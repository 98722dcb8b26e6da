// SPDX-License-Identifier: Apache-2.0
// What becomes of whole networks: what runs in them, and what is left alone.
#include <limits>

#include <ATen/Parallel.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include "calls.hpp"
#include "convolution_fixture.hpp"
#include "cpu_module.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A frozen network of two layers.
torch::jit::Module frozen(const Layer& first, const Layer& second, const std::string& forward) {
  torch::jit::Module module("net");
  module.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& [name, tensor] : {std::pair<const char*, at::Tensor>{"w1", first.weight},
                                     {"b1", *first.bias},
                                     {"w2", second.weight},
                                     {"b2", *second.bias}}) {
    module.register_attribute(name, c10::TensorType::get(), tensor);
  }
  module.define(forward);
  return torch::jit::freeze_module(module);
}

at::Tensor run(CpuModule& module, const at::Tensor& x) {
  const c10::InferenceMode guard;
  return module.run({x}).toTensor();
}

at::Tensor images(std::int64_t count = 3) { return at::randn({count, 64, 28, 28}); }

constexpr const char* kTwoLayers = R"(
def forward(self, x):
    x = torch.relu(torch.conv2d(x, self.w1, self.b1, [1, 1], [1, 1]))
    x = torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
    x = torch.conv2d(x, self.w2, self.b2, [1, 1], [1, 1])
    return torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
)";

class CpuModuleTest : public Winograd {
 protected:
  void SetUp() override {
    Winograd::SetUp();
    at::set_num_threads(1);
  }
  void TearDown() override { at::set_num_threads(threads_); }

 private:
  int threads_ = at::get_num_threads();
};

TEST_F(CpuModuleTest, RunsOwnKernels) {
  const Layer first(64, 64), second(64, 64);
  CpuModule module(frozen(first, second, kTwoLayers), in_order, "net.pt", CpuKernels::automatic);
  const auto x = images();
  run(module, x);
  EXPECT_EQ(module.form(), "Winograd F(2x2, 3x3), pools without indices");
  Calls calls;
  const auto found = run(module, x);
  EXPECT_EQ(calls.of("tally::winograd_convolution"), 2);
  EXPECT_EQ(calls.of("tally::max_pool2d"), 2);
  EXPECT_EQ(calls.of("aten::relu"), 0);
  const auto between = at::max_pool2d(at::relu(first.exact(x)), {2, 2});
  EXPECT_LT(largest_error(found, at::max_pool2d(second.exact(between), {2, 2})), 1e-4);
}

// Where several threads share operations, they share LibTorch's.
TEST_F(CpuModuleTest, OwnConvolutionsAreForOneThread) {
  at::set_num_threads(2);
  CpuModule module(frozen(Layer(64, 64), Layer(64, 64), kTwoLayers), in_order, "net.pt",
                   CpuKernels::automatic);
  run(module, images());
  EXPECT_THAT(module.form(), Not(HasSubstr("Winograd")));
}

TEST_F(CpuModuleTest, RunsTheOperatorsOfItsFileIfAsked) {
  const auto net = frozen(Layer(64, 64), Layer(64, 64), kTwoLayers);
  const auto x = images();
  CpuModule asked(net, in_order, "net.pt", CpuKernels::torch);
  CpuModule later(net, in_order, "net.pt", CpuKernels::automatic);
  run(later, x);
  later.use_kernels(CpuKernels::torch);
  const c10::InferenceMode guard;
  const auto plain = torch::jit::Module(net).forward({x}).toTensor();
  for (auto* module : {&asked, &later}) {
    Calls calls;
    EXPECT_TRUE(run(*module, x).equal(plain));
    EXPECT_EQ(calls.of("tally::winograd_convolution"), 0);
    EXPECT_EQ(calls.of("aten::max_pool2d"), 2);
    EXPECT_EQ(module->form(), "LibTorch's operators alone");
  }
}

TEST_F(CpuModuleTest, RunsTheKernelsThatItIsTold) {
  const auto net = frozen(Layer(64, 64), Layer(64, 64), kTwoLayers);
  const auto x = images();
  CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
  const auto usual = run(module, x);
  const auto form = module.form();
  EXPECT_THAT(form, HasSubstr("Winograd"));
  EXPECT_THAT(module.other_kernels(),
              ElementsAre(CpuKernels::onednn_graph, CpuKernels::own, CpuKernels::torch));
  module.use_kernels(CpuKernels::onednn_graph);
  run(module, x);
  EXPECT_EQ(module.form(), "pools without indices") << "two layers are too few for oneDNN Graph";
  module.use_kernels(CpuKernels::own);
  run(module, x);
  EXPECT_THAT(module.form(), Not(HasSubstr("oneDNN")));
  EXPECT_THAT(module.form(), HasSubstr("Winograd"));
  module.use_kernels(CpuKernels::torch);
  EXPECT_THAT(module.other_kernels(), IsEmpty()) << "the user's word, or what all ranks can";
  module.use_kernels(CpuKernels::automatic);
  EXPECT_TRUE(run(module, x).equal(usual));
  EXPECT_EQ(module.form(), form);
}

// oneDNN Graph's own pool would make a number of it.
TEST_F(CpuModuleTest, PoolsKeepNanWhereOwnConvolutionsAreOff) {
  const auto net = frozen(Layer(64, 64), Layer(64, 64), R"(
def forward(self, x):
    x = torch.max_pool2d(torch.conv2d(x, self.w1, self.b1, [1, 1], [1, 1]), [2, 2])
    x = torch.max_pool2d(torch.conv2d(x, self.w2, self.b2, [1, 1], [1, 1]), [2, 2])
    return torch.conv2d(x, self.w2, self.b2, [1, 1], [1, 1])
)");
  CpuModule module(net, in_order, "net.pt", CpuKernels::onednn_graph);
  const auto x = images();
  run(module, x);
  EXPECT_EQ(module.form(), "pools without indices, oneDNN Graph");
  x[1][0][3][3] = std::numeric_limits<float>::quiet_NaN();
  const auto is_nan = run(module, x).isnan();
  const c10::InferenceMode guard;
  const auto plain = torch::jit::Module(net).forward({x}).toTensor();
  EXPECT_TRUE(plain.isnan().any().item<bool>());
  EXPECT_TRUE(is_nan.equal(plain.isnan()));
}

TEST_F(CpuModuleTest, InputsOfOtherShapesRunTheGraphAsItIs) {
  const auto net = frozen(Layer(64, 64), Layer(64, 64), kTwoLayers);
  CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
  run(module, images());
  const c10::InferenceMode guard;
  for (const auto& x : {images(5), at::randn({3, 64, 20, 32})}) {
    EXPECT_TRUE(run(module, x).equal(torch::jit::Module(net).forward({x}).toTensor()));
  }
}

constexpr const char* kTextNet = R"(
def forward(self, x):
    x = torch.sigmoid(torch.linear(torch.embedding(self.table, x), self.w))
    return torch.linear(torch.sigmoid(torch.linear(x, self.w)), self.w)
)";

torch::jit::Module text_net() {
  return frozen_net({{"table", at::randn({2, 256})}, {"w", at::randn({256, 256}) / 16}}, kTextNet);
}

at::Tensor tokens(std::int64_t length) { return at::ones({3, length}, at::kLong); }

TEST_F(CpuModuleTest, TextsOfOtherLengthsHaveLinearLayersByOnednn) {
  const auto net = text_net();
  CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
  CpuModule plain(net, in_order, "net.pt", CpuKernels::torch);
  run(module, tokens(7));
  run(plain, tokens(7));
  EXPECT_EQ(module.form(), "oneDNN Graph, other lengths with linear layers by oneDNN");
  for (const std::int64_t length : {1, 5, 12}) {
    Calls calls;
    const auto found = run(module, tokens(length));
    EXPECT_EQ(calls.of("mkldnn::_linear_pointwise"), 3);
    const auto exact = run(plain, tokens(length));
    EXPECT_EQ(calls.of("mkldnn::_linear_pointwise"), 3) << "none of the plain one's";
    EXPECT_LT(largest_error(found, exact.to(at::kDouble)), 1e-5);
  }
}

TEST_F(CpuModuleTest, WithoutOnednnGraphLinearLayersAreOnednns) {
  CpuModule module(text_net(), in_order, "net.pt", CpuKernels::own);
  run(module, tokens(7));
  EXPECT_EQ(module.form(), "linear layers by oneDNN");
  Calls calls;
  run(module, tokens(7));
  EXPECT_EQ(calls.of("mkldnn::_linear_pointwise"), 3);
}

// Each checkpoint of a watch freezes the model anew.
TEST_F(CpuModuleTest, WeightsGoWithIt) {
  const auto net = frozen(Layer(64, 64), Layer(64, 64), kTwoLayers);
  const auto find_weight = [&] {
    for (auto* node : net.get_method("forward").graph()->nodes()) {
      const auto value = torch::jit::toIValue(node->output());
      if (value && value->isTensor()) return value->toTensor();
    }
    return at::Tensor();
  };
  ASSERT_TRUE(find_weight().defined());
  const c10::weak_intrusive_ptr<c10::TensorImpl> weight(find_weight().getIntrusivePtr());
  {
    CpuModule module(net, in_order, "net.pt", CpuKernels::automatic);
    run(module, images());
    EXPECT_FALSE(weight.expired());
  }
  EXPECT_TRUE(weight.expired());
}

}  // namespace
}  // namespace tally::graph_optimizer
