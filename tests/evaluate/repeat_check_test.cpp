// SPDX-License-Identifier: Apache-2.0
// Whether a model that gives other scores for the same batch is noticed.
#include <tally/evaluate/repeat_check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <tally/base/error.hpp>

#include "raw_hdf5.hpp"
#include "sample_file.hpp"
#include "test_predictors.hpp"

namespace tally::evaluate {
namespace {

class RepeatCheckTest : public testing::Test {
 protected:
  RepeatCheckTest() { data::SampleFile{}.write(folder_ / "a.h5"); }

  bool is_repeated(model::Predictor& predictor, std::int64_t batch_size = 8) {
    data::DataSet set(folder_ / "a.h5");
    auto bindings = map_inputs(set.info(), predictor, batch_size, {});
    return repeats(set, batch_size, bindings.bindings, predictor, device::Stream({}));
  }

  raw::TemporaryFolder folder_;
};

TEST_F(RepeatCheckTest, AFunctionOfItsInputsRepeats) {
  const auto predictor = model::make_function_predictor(
      5, [](float value, std::int64_t c) { return value + static_cast<float>(c); });
  EXPECT_TRUE(is_repeated(*predictor));
  EXPECT_TRUE(is_repeated(*predictor, 2));
  EXPECT_TRUE(is_repeated(*predictor, 1000));  // more than there are samples
}

TEST_F(RepeatCheckTest, WhatCountsItsCallsDoesNot) {
  float calls = 0;
  const auto predictor =
      model::make_function_predictor(5, [&](float value, std::int64_t) { return value + ++calls; });
  EXPECT_FALSE(is_repeated(*predictor));
}

TEST_F(RepeatCheckTest, NansAreComparedByTheirBits) {
  const auto predictor = model::make_function_predictor(
      5, [](float, std::int64_t) { return std::numeric_limits<float>::quiet_NaN(); });
  EXPECT_TRUE(is_repeated(*predictor));
}

// Hands out what it is given, with ones in place of the first values afterwards; counts rows.
class Writing : public model::Predictor {
 public:
  model::Outputs predict(std::span<const TensorView> inputs) override {
    const auto& input = inputs.front();
    rows.push_back(input.shape.front());
    first_ = *input.as<const float>();
    *const_cast<float*>(input.as<const float>()) = 1e9F;
    return {contiguous_view(&first_, DType::f32, {1, 1})};
  }
  const std::optional<model::ModelCard>& card() const override { return card_; }

  std::optional<model::ModelCard> card_;
  std::vector<std::int64_t> rows;

 private:
  float first_ = 0;
};

TEST_F(RepeatCheckTest, AModelMayWriteToItsInputs) {
  Writing predictor;
  EXPECT_TRUE(is_repeated(predictor));
  EXPECT_THAT(predictor.rows, testing::ElementsAre(3, 3));
}

// As a trace whose batch size is a constant in it, and that has no card.
class OfOneSize : public Writing {
 public:
  model::Outputs predict(std::span<const TensorView> inputs) override {
    if (inputs.front().shape.front() != 8) throw Error(ErrorKind::model, "shape '[8, 36]'");
    return Writing::predict(inputs);
  }
};

TEST_F(RepeatCheckTest, AModelMayTakeBatchesOfOneSizeOnly) {
  OfOneSize predictor;
  EXPECT_TRUE(is_repeated(predictor, 8));
  EXPECT_THAT(predictor.rows, testing::ElementsAre(8, 8));
  EXPECT_THROW(is_repeated(predictor, 7), Error);
}

TEST_F(RepeatCheckTest, AFixedBatchIsRunWhole) {
  Writing predictor;
  predictor.card_.emplace();
  predictor.card_->inputs = {{"image", DType::f32, {6, 3, 4, 3}, ""}};
  predictor.card_->fixed_batch = 6;
  EXPECT_TRUE(is_repeated(predictor, 6));
  EXPECT_THAT(predictor.rows, testing::ElementsAre(6, 6));
}

}  // namespace
}  // namespace tally::evaluate
