// What the convolution for few channels takes the place of in a graph, and what it takes over.
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <gmock/gmock.h>

#include "convolution_fixture.hpp"

namespace tally::model {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Narrow, PoolsOfTwoByTwoAreTakenOver) {
  const Layer layer(1, 20);
  const auto x = at::randn({2, 1, 9, 9});
  for (const auto& stride : {Numbers{2, 2}, {2}, {}}) {
    Convolved graph(layer, {.pool = Pool{.size = {2, 2}, .stride = stride}});
    ASSERT_TRUE(graph.is_replaced());
    EXPECT_THAT(graph.text(), Not(HasSubstr("max_pool2d")));
    EXPECT_LT(largest_error(graph({x}), at::max_pool2d(layer.exact(x), {2, 2})), 1e-5);
  }
}

TEST_F(Narrow, OtherPoolsStay) {
  const Layer layer(1, 20);
  const auto x = at::randn({2, 1, 9, 9});
  const std::vector<Pool> pools{
      {.size = {3, 3}},     {.size = {2, 3}},    {.stride = {1, 1}},         {.padding = {1, 1}},
      {.dilation = {2, 2}}, {.ceil_mode = true}, {.size = {3}, .stride = {}}};
  for (const auto& pool : pools) {
    Convolved graph(layer, {.pool = pool});
    ASSERT_TRUE(graph.is_replaced());
    EXPECT_THAT(graph.text(), HasSubstr("max_pool2d"));
    const auto exact = at::max_pool2d(layer.exact(x), pool.size, pool.stride, pool.padding,
                                      pool.dilation, pool.ceil_mode);
    EXPECT_LT(largest_error(graph({x}), exact), 1e-5);
  }
}

TEST_F(Narrow, AReluGoesWithThePoolAfterIt) {
  const Layer layer(1, 20);
  Convolved graph(layer, {.relu = "aten::relu_", .pool = Pool{}});
  ASSERT_TRUE(graph.is_replaced());
  EXPECT_THAT(graph.text(), Not(HasSubstr("aten::relu")));
  EXPECT_THAT(graph.text(), Not(HasSubstr("max_pool2d")));
  const auto x = at::randn({2, 1, 9, 9});
  EXPECT_LT(largest_error(graph({x}), at::max_pool2d(at::relu(layer.exact(x)), {2, 2})), 1e-5);
}

TEST_F(Narrow, APoolOfWhatIsNeededAgainStays) {
  Convolved graph(Layer(1, 20), {.is_read_twice = true, .pool = Pool{}});
  ASSERT_TRUE(graph.is_replaced());
  EXPECT_THAT(graph.text(), HasSubstr("max_pool2d"));
}

TEST_F(Narrow, OnlyWhatItSuits) {
  const auto is_taken = [](const Layer& layer, const Numbers& input_size = kManyImages) {
    return Convolved(layer, {}, input_size).is_replaced();
  };
  EXPECT_TRUE(is_taken(Layer(20, 50)));
  EXPECT_TRUE(is_taken(Layer(1, 32))) << "one channel";
  EXPECT_FALSE(is_taken(Layer(2, 32))) << "channels that fill registers of 16";
  EXPECT_FALSE(is_taken(Layer(20, 25))) << "channels that fill more than half of them";
  EXPECT_FALSE(is_taken(Layer(33, 24))) << "many channels";
  EXPECT_FALSE(is_taken(Layer(1, 72))) << "many channels out";
  EXPECT_FALSE(is_taken(Layer(20, 50), {1'000, 20, 3, 3})) << "few pixels";
  EXPECT_FALSE(is_taken(Layer(1, 20, {1, 1}))) << "no window";
  Layer layer(20, 50);
  layer.dilation = {1, 2};
  EXPECT_FALSE(is_taken(layer)) << "dilation";
  layer = Layer(20, 50);
  layer.groups = 2;
  EXPECT_FALSE(is_taken(layer)) << "groups";
  layer = Layer(20, 50);
  layer.weight = layer.weight.to(at::kBFloat16);
  EXPECT_FALSE(is_taken(layer)) << "bf16";
}

}  // namespace
}  // namespace tally::model
