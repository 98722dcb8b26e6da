// SPDX-License-Identifier: Apache-2.0
// How many samples are run at a time.
#include "passes/micro_batch_size.hpp"

#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include "onednn/profiled_graph.hpp"

namespace tally::graph_optimizer {
namespace {

std::optional<std::int64_t> size_for(const at::Tensor& weight, const at::Tensor& x,
                                     const std::string& forward) {
  torch::jit::Module module("net");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_attribute("w", c10::TensorType::get(), weight);
  module.define("def forward(self, x):\n    return " + forward + "\n");
  const c10::InferenceMode guard;
  const auto frozen = torch::jit::freeze_module(module);
  const auto profile = profile_shapes(*frozen.get_method("forward").graph(), {frozen._ivalue(), x});
  return micro_batch_size(*profile.graph, x.size(0));
}

// Activations of 3 x 3 x 256 x 256 and 8 x 254 x 254 numbers, weights of 216.
TEST(PieceSizeTest, ActivationsThatOutweighWeightsNeedFew) {
  EXPECT_EQ(size_for(at::randn({8, 3, 3, 3}), at::randn({3, 3, 256, 256}),
                     "torch.relu(torch.conv2d(torch.mul(x, 1.0), self.w))"),
            4);
}

// 4 MiB of weights, 8 KiB of activations of a sample: 512 of them.
TEST(PieceSizeTest, WeightsAreReadForManySamples) {
  EXPECT_EQ(size_for(at::randn({1024, 1024}), at::randn({3, 1024}),
                     "torch.relu(torch.linear(torch.mul(x, 1.0), self.w))"),
            512);
}

// 128 bytes of a sample: a mebibyte are 8,192 of them.
TEST(PieceSizeTest, LayersHandleAMebibyte) {
  EXPECT_EQ(size_for(at::randn({16, 16}), at::randn({3, 16}),
                     "torch.relu(torch.linear(torch.mul(x, 1.0), self.w))"),
            8192);
}

// Half the bytes of weights and of activations; but the weights count four times.
TEST(PieceSizeTest, WeightsOf16BitsAreReadForMoreSamples) {
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    EXPECT_EQ(size_for(at::randn({1024, 1024}).to(type), at::randn({3, 1024}).to(type),
                       "torch.relu(torch.linear(torch.mul(x, 1.0), self.w))"),
              2048);
  }
}

TEST(PieceSizeTest, HalfTheBytesTakeTwiceTheSamples) {
  EXPECT_EQ(size_for(at::randn({16, 16}).to(at::kBFloat16), at::randn({3, 16}).to(at::kBFloat16),
                     "torch.relu(torch.linear(torch.mul(x, 1.0), self.w))"),
            16384);
}

TEST(PieceSizeTest, NetworksWithoutLayersHaveNone) {
  EXPECT_FALSE(size_for(at::randn({16}), at::randn({3, 16}), "torch.mul(x, self.w)"));
}

}  // namespace
}  // namespace tally::graph_optimizer
