// SPDX-License-Identifier: Apache-2.0
// Networks that settle how to run batches by a few samples, and those that do not.
#include <functional>
#include <memory>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>

#include "torch_predictor.hpp"

namespace tally::model {
namespace {

struct SmallBatchScene {
  std::function<std::optional<at::Tensor>(const Tensors&)> few = [](const Tensors& inputs) {
    return std::optional(inputs[0] * 2);
  };
  std::int64_t batch_size = 0;  // as it was given
  int num_whole = 0;
};

class SmallBatchNetwork final : public Network {
 public:
  explicit SmallBatchNetwork(SmallBatchScene& scene) : scene_(scene) {}
  const std::string& name() const override { return name_; }
  Tensors run(Tensors inputs) override {
    ++scene_.num_whole;
    return {inputs[0] * 2};
  }
  std::optional<Tensors> warm_up_small(Tensors inputs, std::int64_t batch_size) override {
    scene_.batch_size = batch_size;
    const auto scores = scene_.few(inputs);
    return scores ? std::optional(Tensors{*scores}) : std::nullopt;
  }

 private:
  SmallBatchScene& scene_;
  std::string name_ = "net.pt";
};

class FewSamplesTest : public testing::Test {
 protected:
  std::optional<Outputs> warm_up_small(InputConventions habits = {}) {
    predictor_ = make_torch_predictor(std::make_unique<SmallBatchNetwork>(scene), std::move(habits),
                                      device::Device(), nullptr);
    const auto input = contiguous_view(numbers_.data(), DType::f32, {3, 2});
    return predictor_->warm_up_small({&input, 1}, 64);
  }

  SmallBatchScene scene;

 private:
  std::vector<float> numbers_ = {1, 2, 3, 4, 5, 6};
  std::unique_ptr<Predictor> predictor_;
};

TEST_F(FewSamplesTest, GiveTheirScores) {
  const auto scores = warm_up_small();
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->front().shape, (Shape{3, 2}));
  EXPECT_EQ(scores->front().as<const float>()[5], 12);
  EXPECT_EQ(scene.batch_size, 64);
  EXPECT_EQ(scene.num_whole, 0);
}

TEST_F(FewSamplesTest, ANetworkMayDecline) {
  scene.few = [](const Tensors&) { return std::optional<at::Tensor>(); };
  EXPECT_FALSE(warm_up_small());
}

TEST_F(FewSamplesTest, WhatFailsWithFewIsLeftToTheBatch) {
  scene.few = [](const Tensors&) -> std::optional<at::Tensor> {
    throw Error(ErrorKind::model, "64 only");
  };
  EXPECT_FALSE(warm_up_small());
  scene.few = [](const Tensors&) { return std::optional<at::Tensor>(at::zeros({64, 2})); };
  EXPECT_FALSE(warm_up_small());
}

TEST_F(FewSamplesTest, AFixedBatchSizeIsRespected) {
  ModelCard card;
  card.inputs = {{"x", DType::f32, {-1, 2}, ""}};
  card.outputs.resize(1);
  card.outputs[0].shape = {-1, 2};
  EXPECT_TRUE(warm_up_small({card, {}}));
  card.fixed_batch = 64;
  EXPECT_FALSE(warm_up_small({card, {}}));
}

}  // namespace
}  // namespace tally::model
