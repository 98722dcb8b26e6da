// SPDX-License-Identifier: Apache-2.0
// What Winograd's convolution takes the place of in a graph, and what it takes over.
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <gmock/gmock.h>

#include "convolution_fixture.hpp"

namespace tally::graph_optimizer {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Winograd, SumsAreWrittenOverTheirOtherSide) {
  const Layer layer(64, 64);
  for (const std::string relu : {"", "aten::relu_", "aten::relu"}) {
    Convolved graph(layer, {.sum = true, .relu = relu});
    ASSERT_TRUE(graph.is_replaced());
    EXPECT_THAT(graph.text(), HasSubstr("tally::winograd_convolution_("));
    EXPECT_THAT(graph.text(), Not(HasSubstr("aten::relu")));
    EXPECT_THAT(graph.text(), Not(HasSubstr("aten::add")));
    const auto x = at::randn({2, 64, 7, 7});
    const auto other = at::randn({2, 64, 7, 7});
    auto exact = layer.exact(x) + at::sigmoid(other.to(at::kDouble));
    if (!relu.empty()) exact = at::relu(exact);
    const auto found = graph({other, x});
    EXPECT_LT(largest_error(found, exact), 1e-5);
    EXPECT_TRUE(found.equal(graph({channels_last(other), x})));
  }
}

TEST_F(Winograd, AReluOfWhatIsNeededAgainStays) {
  const Layer layer(64, 64);
  for (const bool sum : {false, true}) {
    Convolved graph(layer, {.sum = sum, .relu = "aten::relu", .is_read_twice = true});
    ASSERT_TRUE(graph.is_replaced());
    EXPECT_THAT(graph.text(), HasSubstr("aten::relu"));
    const auto x = at::randn({2, 64, 7, 7});
    const auto other = at::randn({2, 64, 7, 7});
    auto exact = layer.exact(x);
    if (sum) exact = exact + at::sigmoid(other.to(at::kDouble));
    const auto found = sum ? graph({other, x}) : graph({x});
    EXPECT_LT(largest_error(found, at::relu(exact)), 1e-5);
  }
}

TEST_F(Winograd, BiasesThatAreComputedAreAdded) {
  const Layer layer(64, 64);
  Convolved graph(layer, {.bias_is_input = true});
  ASSERT_TRUE(graph.is_replaced());
  const auto x = at::randn({2, 64, 7, 7});
  EXPECT_LT(largest_error(graph({x, *layer.bias}), layer.exact(x)), 1e-5);
}

TEST_F(Winograd, SumsOfOtherShapesAreRepeated) {
  const Layer layer(64, 64);
  Convolved graph(layer, {.sum = true});
  ASSERT_TRUE(graph.is_replaced());
  const auto other = at::randn({1, 64, 1, 1});
  const auto x = at::randn({2, 64, 7, 7});
  const auto exact = layer.exact(x) + at::sigmoid(other.to(at::kDouble));
  EXPECT_LT(largest_error(graph({other, x}), exact), 1e-5);
}

TEST_F(Winograd, OnlyWhatItSuits) {
  const auto is_taken = [](const Layer& layer, const Numbers& input_size = kManyImages) {
    return Convolved(layer, {}, input_size).is_replaced();
  };
  EXPECT_TRUE(is_taken(Layer(64, 64)));
  EXPECT_FALSE(is_taken(Layer(16, 64))) << "few channels";
  EXPECT_FALSE(is_taken(Layer(72, 64))) << "channels that fill no register";
  EXPECT_FALSE(is_taken(Layer(64, 48))) << "channels that fill no group";
  EXPECT_FALSE(is_taken(Layer(64, 64), {3, 64, 8, 8})) << "few tiles";
  EXPECT_FALSE(is_taken(Layer(64, 64), {1'000, 64, 3, 3})) << "tiles that hang over";
  Layer layer(64, 64);
  layer.stride = {2, 2};
  EXPECT_FALSE(is_taken(layer)) << "stride";
  layer = Layer(64, 64);
  layer.dilation = {1, 2};
  EXPECT_FALSE(is_taken(layer)) << "dilation";
  layer = Layer(64, 64);
  layer.groups = 2;
  EXPECT_FALSE(is_taken(layer)) << "groups";
  layer = Layer(64, 64);
  layer.weight = at::randn({64, 64, 5, 5});
  EXPECT_FALSE(is_taken(layer)) << "windows";
  layer = Layer(64, 64);
  layer.weight = layer.weight.to(at::kBFloat16);
  EXPECT_FALSE(is_taken(layer)) << "bf16";
}

}  // namespace
}  // namespace tally::graph_optimizer
