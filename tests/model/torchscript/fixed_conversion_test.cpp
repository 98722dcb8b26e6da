// SPDX-License-Identifier: Apache-2.0
// Conversions to a type that a trace recorded, in a model whose weights are cast.
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <tally/base/error.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {
namespace {

// The line with which a network of this forward() ends in bfloat16, given [2, 2].
std::string failure_of(const std::string& forward) {
  torch::jit::Module module("Net");
  module.register_parameter("weight", at::ones({2, 2}), /*is_buffer=*/false);
  module.define("def forward(self, x):\n  return " + forward + "\n");
  std::ostringstream file;
  module.save(file);
  const std::string bytes = file.str();
  PredictorOptions options;
  options.precision = Precision::bf16;
  const auto predictor = load_predictor({"net.pt", std::as_bytes(std::span(bytes))}, options);
  std::vector<float> numbers(4, 1.0F);
  const auto input = contiguous_view(numbers.data(), DType::f32, {2, 2});
  try {
    predictor->warm_up({&input, 1});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    return error.what();
  }
  return "none";
}

// As in models of transformers: `tensor.to(device)` is recorded with the type that it had.
TEST(FixedConversionTest, NeedsAnExportInThePrecisionOfTheRun) {
  EXPECT_THAT(failure_of("torch.matmul(x.to(6), self.weight)"),
              testing::HasSubstr("Export it with --precision bf16"));
}

TEST(FixedConversionTest, OtherFailuresAreOfTheInputs) {
  EXPECT_THAT(failure_of("torch.matmul(torch.cat([x, x], 1), self.weight)"),
              testing::HasSubstr("Check that the data set's inputs are what the model takes"));
}

}  // namespace
}  // namespace tally::model
