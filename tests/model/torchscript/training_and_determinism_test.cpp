// SPDX-License-Identifier: Apache-2.0
// Which operators of a network are found to belong to training, and what is done about them.
#include "torchscript/training_and_determinism.hpp"

#include <fstream>
#include <sstream>

#include <ATen/core/Tensor.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include <tally/base/error.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// x is [N, 3, 4, 4].
torch::jit::Module module(const std::string& body) {
  torch::jit::Module made("Net");
  const auto add = [&](const char* name, const at::Tensor& value) {
    made.register_parameter(name, value, /*is_buffer=*/false);
  };
  add("kernel", at::randn({3, 3, 1, 1}));
  add("weight", at::ones({3}));
  add("bias", at::zeros({3}));
  add("table", at::rand({2, 3}));
  made.register_buffer("mean", at::zeros({3}));
  made.register_buffer("var", at::ones({3}));
  made.define("def forward(self, x):\n" + body);
  made.eval();
  return made;
}

GraphAnalysis analysis(const std::string& body) {
  return analyse(*torch::jit::freeze_module(module(body)).get_method("forward").graph());
}

// "aten::dropout dropout", of each operator that was found.
std::vector<std::string> found_in(const std::string& body) {
  std::vector<std::string> found;
  for (const auto& [name, what, source] : analysis(body).training) {
    found.push_back(name + " " + what);
  }
  return found;
}

TEST(TrainingModeTest, ActiveDropoutIsFound) {
  EXPECT_THAT(found_in("  return torch.dropout(x, 0.5, True)\n"),
              ElementsAre("aten::dropout dropout"));
  EXPECT_THAT(found_in("  return torch.dropout_(x * 2, 0.5, True)\n"),
              ElementsAre("aten::dropout_ dropout"));
  EXPECT_THAT(found_in("  return torch.feature_dropout(x, 0.1, True)\n"),
              ElementsAre("aten::feature_dropout dropout"));
  EXPECT_THAT(found_in("  return torch.alpha_dropout(x, 0.1, True)\n"),
              ElementsAre("aten::alpha_dropout dropout"));
  EXPECT_THAT(found_in("  return torch.scaled_dot_product_attention(x, x, x, None, 0.1)\n"),
              ElementsAre("aten::scaled_dot_product_attention dropout"));
}

TEST(TrainingModeTest, DropoutThatIsOffIsNot) {
  EXPECT_THAT(found_in("  return torch.dropout(x, 0.5, False)\n"), IsEmpty());
  EXPECT_THAT(found_in("  return torch.dropout_(x * 2, 0.5, False)\n"), IsEmpty());
  EXPECT_THAT(found_in("  return torch.dropout(x, 0.0, True)\n"), IsEmpty());
  EXPECT_THAT(found_in("  return torch.alpha_dropout(x, 0.1, False)\n"), IsEmpty());
  EXPECT_THAT(found_in("  return torch.scaled_dot_product_attention(x, x, x, None, 0.0)\n"),
              IsEmpty());
}

std::string batch_norm(const std::string& mode) {
  return "  return torch.batch_norm(x, self.weight, self.bias, self.mean, self.var, " + mode +
         ", 0.1, 1e-5, False)\n";
}

std::string instance_norm(const std::string& running, const std::string& mode) {
  return "  return torch.instance_norm(x, self.weight, self.bias, " + running + ", " + mode +
         ", 0.1, 1e-5, False)\n";
}

TEST(TrainingModeTest, StatisticsOfTheBatchAreFound) {
  EXPECT_THAT(found_in(batch_norm("True")), ElementsAre("aten::batch_norm batch statistics"));
  EXPECT_THAT(found_in(batch_norm("False")), IsEmpty());
  EXPECT_THAT(found_in(instance_norm("self.mean, self.var", "True")),
              ElementsAre("aten::instance_norm batch statistics"));
  EXPECT_THAT(found_in(instance_norm("self.mean, self.var", "False")), IsEmpty());
}

TEST(TrainingModeTest, InstancesHaveTheirOwnStatisticsByDesign) {
  EXPECT_THAT(found_in(instance_norm("None, None", "True")), IsEmpty());
}

TEST(TrainingModeTest, RandomNumbersAreFound) {
  EXPECT_THAT(found_in("  return x + torch.rand_like(x)\n"),
              ElementsAre("aten::rand_like random numbers"));
  EXPECT_THAT(found_in("  return x * torch.bernoulli_(torch.zeros_like(x), 0.5)\n"),
              ElementsAre("aten::bernoulli_ random numbers"));
  EXPECT_THAT(found_in("  return x[:, torch.randperm(3)]\n"),
              ElementsAre("aten::randperm random numbers"));
  EXPECT_THAT(found_in("  return torch.rrelu(x, 0.1, 0.3, True)\n"),
              ElementsAre("aten::rrelu random numbers"));
  EXPECT_THAT(found_in("  return torch.rrelu(x, 0.1, 0.3, False)\n"), IsEmpty());
}

TEST(TrainingModeTest, BranchesAreLookedInto) {
  EXPECT_THAT(found_in("  if x.size(0) > 2:\n"
                       "    x = torch.dropout(x, 0.5, True)\n"
                       "  for i in range(x.size(1)):\n"
                       "    x = x + torch.rand_like(x)\n"
                       "  return x\n"),
              ElementsAre("aten::dropout dropout", "aten::rand_like random numbers"));
}

TEST(TrainingModeTest, WhatRepeatsIsKnown) {
  EXPECT_TRUE(analysis("  return torch.relu(x)\n").determinism.is_known);
  EXPECT_TRUE(analysis(batch_norm("False")).determinism.is_known);
  EXPECT_TRUE(analysis("  return torch.dropout_(x * 2, 0.5, False)\n").determinism.is_known);
}

TEST(TrainingModeTest, WhatMayNotRepeatIsNot) {
  for (const auto* body : {
           "  return torch.dropout(x, 0.5, x.size(0) > 2)\n",
           "  return x + torch.empty_like(x)\n",
           "  self.mean.add_(1)\n  return x + self.mean[0]\n",
           "  return torch.index_put(x, [torch.zeros([2], dtype=4)], x[0:2], True)\n",
       }) {
    EXPECT_FALSE(analysis(body).determinism.is_known) << body;
    EXPECT_THAT(found_in(body), IsEmpty()) << body;
  }
}

TEST(TrainingModeTest, NumbersMayBeDrawnWhereAFlagIsNotKnown) {
  EXPECT_FALSE(
      analysis("  return torch.dropout(x, 0.5, x.size(0) > 2)\n").determinism.draws_no_numbers);
  EXPECT_TRUE(analysis("  return x + torch.empty_like(x)\n").determinism.draws_no_numbers);
}

TEST(TrainingModeTest, SumsInAnyOrderVaryOnGpus) {
  EXPECT_THAT(analysis("  return torch.cumsum(x, 1)\n").determinism.varying_on_gpus,
              ElementsAre("aten::cumsum"));
  EXPECT_THAT(analysis("  return torch.cumsum(x, 1) + torch.cumsum(x.ne(0), 1)\n")
                  .determinism.varying_on_gpus,
              ElementsAre("aten::cumsum"));
  EXPECT_THAT(analysis("  return x + torch.cumsum(x.ne(0), 1)\n").determinism.varying_on_gpus,
              IsEmpty());
  EXPECT_TRUE(analysis("  return torch.cumsum(x, 1)\n").determinism.is_known);
  EXPECT_THAT(analysis("  return x + torch.cumsum(x, 1, dtype=4)\n").determinism.varying_on_gpus,
              IsEmpty());
  EXPECT_THAT(analysis("  return torch.index_put(x, [torch.zeros([2], dtype=4)], x[0:2], True)\n")
                  .determinism.varying_on_gpus,
              ElementsAre("aten::index_put"));
}

std::unique_ptr<Predictor> load(const std::string& body, const PredictorOptions& options) {
  std::ostringstream file;
  module(body).save(file);
  const std::string bytes = file.str();
  return load_predictor(
      {"net.pt", {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}}, options);
}

TEST(TrainingModeTest, SuchAModelIsRefused) {
  try {
    load("  x = torch.dropout(x, 0.5, True)\n  return x + torch.rand_like(x)\n", {});
    FAIL() << "it was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    EXPECT_THAT(error.what(), HasSubstr("model 'net.pt' was traced in training mode: aten::dropout "
                                        "(dropout) at <string>:2, aten::rand_like (random numbers) "
                                        "at <string>:3 are active"));
    EXPECT_THAT(error.what(), HasSubstr("--allow-training-mode"));
  }
}

TEST(TrainingModeTest, AllowedItIsNotComparable) {
  PredictorOptions options;
  options.allow_training_mode = true;
  const auto predictor = load(batch_norm("True"), options);
  EXPECT_TRUE(predictor->determinism().is_in_training_mode);
  EXPECT_THAT(predictor->notes(), ElementsAre(HasSubstr("was traced in training mode and is")));
  EXPECT_FALSE(load(batch_norm("False"), options)->determinism().is_in_training_mode);
}

// LibTorch folds a batch normalisation into a convolution whatever its mode.
TEST(TrainingModeTest, AllowedItComputesWhatItsFileSays) {
  const std::string body =
      "  x = torch.conv2d(x, self.kernel)\n"
      "  return torch.relu(torch.batch_norm(x, self.weight, self.bias, self.mean, self.var, True, "
      "0.1, 1e-5, False))\n";
  const auto net = module(body);
  std::ostringstream file;
  net.save(file);
  const std::string bytes = file.str();
  PredictorOptions options;
  options.allow_training_mode = true;
  options.threads = 2;  // pieces of a batch would have statistics of their own
  const auto predictor = load_predictor(
      {"net.pt", {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}}, options);
  const auto x = at::randn({64, 3, 4, 4}).add(1);
  const auto view = contiguous_view(x.data_ptr<float>(), DType::f32, {64, 3, 4, 4});
  predictor->warm_up({&view, 1});
  const auto scores = predictor->predict({&view, 1}).front();
  const auto weights = net.attr("kernel").toTensor();
  const auto expected = at::batch_norm(at::conv2d(x, weights), at::ones({3}), at::zeros({3}),
                                       at::zeros({3}), at::ones({3}), true, 0.1, 1e-5, false)
                            .relu();
  const auto* found = scores.as<const float>();
  const auto* wanted = expected.data_ptr<float>();
  for (std::int64_t i = 0; i < expected.numel(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
}

// What loading a file of make_fixtures.py says.
std::string refusal(const std::string& name) {
  std::ifstream file(std::string(TALLY_MODEL_FIXTURES) + "/" + name, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_FALSE(bytes.empty());
  try {
    load_predictor({name, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "it was loaded";
}

// Written by torch.jit.trace of fixture_nets.py's SmallNet: its file knows where each operator
// stood.
TEST(TrainingModeTest, TracedOperatorsAreFoundInTheirSource) {
  EXPECT_THAT(refusal("net_traced_training.pt"),
              testing::ContainsRegex("aten::batch_norm \\(batch statistics\\) at "
                                     "[^ ]*fixture_nets.py:[0-9]+, aten::dropout \\(dropout\\) "
                                     "at [^ ]*fixture_nets.py:[0-9]+ are active"));
}

// A graph of its own, which is no block of its node. The operator stands in torch's own source.
TEST(TrainingModeTest, ForksAreLookedInto) {
  EXPECT_THAT(refusal("DropsInFork.pt"),
              testing::ContainsRegex("training mode: aten::dropout \\(dropout\\) at "
                                     "[^ ]*fixture_nets.py:[0-9]+ is active"));
}

}  // namespace
}  // namespace tally::model
