// SPDX-License-Identifier: Apache-2.0
// Which networks may run on several threads at once.
#include "torchscript/side_effects.hpp"

#include <sstream>

#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <tally/model/loaded_model.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

torch::jit::Module module(const std::string& body) {
  torch::jit::Module made("Net");
  made.register_buffer("scratch", at::zeros({16, 2}));
  made.register_parameter("weight", at::randn({2, 2}), /*is_buffer=*/false);
  made.define("def forward(self, x):\n" + body);
  made.eval();
  return made;
}

bool has_state(const std::string& body) {
  return keeps_state(*torch::jit::freeze(module(body)).get_method("forward").graph());
}

TEST(JitSideEffectsTest, WeightsAreNone) {
  EXPECT_FALSE(has_state("  return x @ self.weight + self.scratch[0]\n"));
  EXPECT_FALSE(has_state("  y = x * 2\n  y.add_(1)\n  return y\n"));
  EXPECT_FALSE(has_state("  return torch.dropout(x, 0.5, False)\n"));
}

TEST(JitSideEffectsTest, WhatIsWrittenToIs) {
  EXPECT_TRUE(has_state("  self.scratch.copy_(x)\n  return self.scratch * 2\n"));
  EXPECT_TRUE(has_state("  self.scratch = x * 2\n  return self.scratch\n"));
  EXPECT_TRUE(
      has_state("  if x.size(0) > 2:\n    self.scratch.add_(1)\n  return x + self.scratch\n"));
}

TEST(JitSideEffectsTest, DrawnNumbersAre) {
  EXPECT_TRUE(has_state("  return x + torch.rand_like(x)\n"));
  EXPECT_TRUE(has_state("  return torch.dropout(x, 0.5, True)\n"));
}

TEST(JitSideEffectsTest, InputsMayBeWrittenOver) {
  const auto writes = [](const std::string& body) {
    return writes_over_inputs(*torch::jit::freeze(module(body)).get_method("forward").graph());
  };
  EXPECT_TRUE(writes("  return x.add_(1)\n"));
  EXPECT_TRUE(writes("  y = x.view([-1])\n  y.mul_(2)\n  return x\n"));
  EXPECT_FALSE(writes("  y = x + 1\n  y.add_(1)\n  return x * y\n"));
  EXPECT_FALSE(writes("  return x @ self.weight\n"));
}

// Two pieces at once would write over each other's.
TEST(JitSideEffectsTest, NetworksWithStateGetWholeBatches) {
  std::ostringstream file;
  module("  self.scratch.copy_(x[:16])\n  return torch.cat([self.scratch * 2, x[16:]])\n")
      .save(file);
  const std::string bytes = file.str();
  PredictorOptions options;
  options.threads = 2;
  const auto predictor = load_predictor(
      {"net.pt", {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}}, options);
  std::vector<float> numbers(64, 1.0F);
  const auto input = contiguous_view(numbers.data(), DType::f32, {32, 2});
  predictor->warm_up({&input, 1});
  const auto scores = predictor->predict({&input, 1}).front();
  EXPECT_EQ(scores.as<const float>()[31], 2.0F);
  EXPECT_EQ(scores.as<const float>()[32], 1.0F);
  EXPECT_THAT(predictor->notes(), ElementsAre(HasSubstr("keeps state")));
  EXPECT_THAT(predictor->form(), Not(HasSubstr("at a time")));
}

}  // namespace
}  // namespace tally::model
