// SPDX-License-Identifier: Apache-2.0
#include "test_predictors.hpp"

#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally::model {
namespace {

float score(float first_value, std::int64_t class_index) {
  return first_value * 10 + static_cast<float>(class_index);
}

TEST(FunctionPredictorTest, ScoresByTheFirstValueOfEachSample) {
  auto predictor = make_function_predictor(3, score);
  std::vector<std::uint8_t> values{1, 7, 2, 7, 3, 7};
  const auto view = contiguous_view(values.data(), DType::u8, {3, 2});
  const auto output = predictor->predict({&view, 1}).front();
  EXPECT_EQ(output.shape, (Shape{3, 3}));
  const std::vector<float> found(output.as<float>(), output.as<float>() + 9);
  EXPECT_EQ(found, (std::vector<float>{10, 11, 12, 20, 21, 22, 30, 31, 32}));
  EXPECT_FALSE(predictor->card());
}

TEST(FailingPredictorTest, FailsFromTheGivenCallOn) {
  auto predictor = make_failing_predictor(make_function_predictor(2, score), 2);
  std::vector<float> values{1};
  const auto view = contiguous_view(values.data(), DType::f32, {1, 1});
  EXPECT_EQ(predictor->predict({&view, 1}).front().as<float>()[0], 10.0f);
  EXPECT_NO_THROW(predictor->predict({&view, 1}));
  EXPECT_THROW(predictor->predict({&view, 1}), Error);
  EXPECT_THROW(predictor->predict({&view, 1}), Error);
}

}  // namespace
}  // namespace tally::model
