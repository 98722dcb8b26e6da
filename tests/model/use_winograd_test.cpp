// What Winograd's convolution takes the place of in a graph, and what it takes over.
#include <ATen/Parallel.h>
#include <ATen/ops/relu.h>
#include <gmock/gmock.h>

#include "convolution_fixture.hpp"
#include "pack_weights.hpp"

namespace tally::model {
namespace {

TEST_F(Winograd, SumsAreWrittenOverTheirOtherSide) {
  const Layer layer(64, 64);
  for (const std::string relu : {"", "aten::relu_", "aten::relu"}) {
    Convolved graph(layer, {.sum = true, .relu = relu});
    ASSERT_TRUE(graph.is_replaced());
    EXPECT_THAT(graph.text(), testing::Not(testing::HasSubstr("aten::relu")));
    const auto x = at::randn({2, 64, 7, 7});
    const auto other = at::randn({2, 64, 7, 7});
    auto exact = layer.exact(x) + other;
    if (!relu.empty()) exact = at::relu(exact);
    std::vector<at::Tensor> found;
    for (const auto& there : {other.clone(), channels_last(other).clone()}) {
      found.push_back(graph({there, x}));
      EXPECT_LT(largest_error(found.back(), exact), 1e-5);
      EXPECT_EQ(found.back().const_data_ptr(), there.const_data_ptr());
    }
    EXPECT_TRUE(found[0].equal(found[1]));
  }
}

TEST_F(Winograd, AReluOfASumThatIsNeededAgainStays) {
  const Layer layer(64, 64);
  Convolved graph(layer, {.sum = true, .relu = "aten::relu", .is_read_twice = true});
  ASSERT_TRUE(graph.is_replaced());
  EXPECT_THAT(graph.text(), testing::HasSubstr("aten::relu"));
  const auto x = at::randn({2, 64, 7, 7});
  const auto other = at::randn({2, 64, 7, 7});
  EXPECT_LT(largest_error(graph({other.clone(), x}), at::relu(layer.exact(x) + other)), 1e-5);
}

TEST_F(Winograd, BiasesThatAreComputedAreAdded) {
  const Layer layer(64, 64);
  Convolved graph(layer, {.bias_is_input = true});
  ASSERT_TRUE(graph.is_replaced());
  const auto x = at::randn({2, 64, 7, 7});
  EXPECT_LT(largest_error(graph({x, *layer.bias}), layer.exact(x)), 1e-5);
}

TEST_F(Winograd, SumsOfOtherShapesAreRefused) {
  Convolved graph(Layer(64, 64), {.sum = true});
  EXPECT_ANY_THROW(graph({at::randn({1, 64, 1, 1}), at::randn({2, 64, 7, 7})}));
}

// Where several threads share operations, they share oneDNN's.
TEST_F(Winograd, IsForOneThread) {
  for (const int threads : {1, 2}) {
    const auto graph = std::make_shared<torch::jit::Graph>();
    graph->registerOutput(append_convolution(*graph, Layer(64, 64), {})->output());
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const auto packed = pack_weights(*graph, {kManyImages});
    at::set_num_threads(before);
    EXPECT_EQ(packed.convolutions, 1);
    EXPECT_EQ(packed.of_them_winograd, threads == 1 ? 1 : 0);
  }
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
}  // namespace tally::model
