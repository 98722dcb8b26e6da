// Convolutions for few channels against LibTorch's own in double precision.
#include <limits>
#include <tuple>

#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <gmock/gmock.h>

#include "convolution_fixture.hpp"
#include "narrow_convolution.hpp"

namespace tally::model {
namespace {

class Replaced : public Convolved {
 public:
  explicit Replaced(const Layer& layer, const Around& around = {})
      : Convolved(layer, around, {2, 3, 16, 16}) {
    EXPECT_TRUE(is_replaced());
    EXPECT_THAT(text(), testing::Not(testing::HasSubstr("max_pool2d")));
  }
};

// Up to eight groups of 8: all ways in which they share the registers.
TEST_F(Narrow, AllNumbersOfChannels) {
  for (std::int64_t out_channels = 1; out_channels <= 64; ++out_channels) {
    const Layer layer(1, out_channels, {5, 5});
    const auto x = at::randn({2, 1, 9, 10});
    for (const bool pools : {false, true}) {
      Replaced graph(layer, {.pool = pools ? std::optional<Pool>(Pool{}) : std::nullopt});
      const auto found = graph({x});
      const auto exact = pools ? at::max_pool2d(layer.exact(x), {2, 2}) : layer.exact(x);
      ASSERT_EQ(found.sizes(), exact.sizes());
      EXPECT_TRUE(found.is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_LT(largest_error(found, exact), 1e-5) << out_channels << (pools ? " pooled" : "");
    }
  }
}

TEST_F(Narrow, WindowsStridesAndPaddings) {
  using Pair = std::array<std::int64_t, 2>;
  for (const auto& window : {Pair{3, 3}, {1, 4}, {7, 2}}) {
    for (const auto& stride : {Numbers{1, 1}, {2, 3}, {2}}) {
      for (const auto& padding : {Numbers{0, 0}, {3, 1}, {0, 2}, {1}}) {
        Layer layer(3, 20, window);
        layer.stride = stride;
        layer.padding = padding;
        Replaced graph(layer, {.pool = Pool{}});
        for (const auto& x : {at::randn({2, 3, 11, 12}), channels_last(at::randn({1, 3, 16, 9}))}) {
          const auto exact = at::max_pool2d(layer.exact(x), {2, 2});
          EXPECT_LT(largest_error(graph({x}), exact), 1e-5) << layer.weight.sizes() << stride;
        }
      }
    }
  }
}

// The layers of LeNets, and one whose sums are as long as they may be.
TEST_F(Narrow, IsNoLessExactThanDirectConvolution) {
  for (const auto& [channels, out_channels, window] :
       {std::tuple{1, 20, 5}, {20, 50, 5}, {6, 17, 5}, {3, 24, 3}, {32, 40, 7}}) {
    const Layer layer(channels, out_channels, {window, window});
    Replaced graph(layer, {.relu = "aten::relu"});
    const auto x = channels_last(at::relu(at::randn({8, channels, 28, 28})));
    const auto exact = at::relu(layer.exact(x));
    const auto error = root_mean_square(graph({x}).to(at::kDouble) - exact);
    const auto direct = root_mean_square(at::relu(layer.direct(x)).to(at::kDouble) - exact);
    EXPECT_LT(error, 1.05 * direct) << channels << " channels, " << error << ", " << direct;
  }
}

TEST_F(Narrow, HasNoBias) {
  Layer layer(2, 20);
  layer.bias.reset();
  const auto x = at::randn({2, 2, 8, 8});
  EXPECT_LT(largest_error(Replaced(layer)({x}), layer.exact(x)), 1e-5);
}

TEST_F(Narrow, BiasesThatAreComputedAreAdded) {
  const Layer layer(2, 20);
  Replaced graph(layer, {.bias_is_input = true});
  const auto x = at::randn({2, 2, 8, 8});
  EXPECT_LT(largest_error(graph({x, *layer.bias}), layer.exact(x)), 1e-5);
}

TEST_F(Narrow, ImagesThatDoNotFitAreRefused) {
  Layer layer(3, 20);
  layer.padding = {0, 0};
  Replaced graph(layer, {.pool = Pool{}});
  EXPECT_ANY_THROW(graph({at::randn({2, 4, 7, 7})})) << "channels";
  EXPECT_ANY_THROW(graph({at::randn({2, 3, 7, 2})})) << "smaller than the window";
  EXPECT_ANY_THROW(graph({at::randn({2, 3, 7, 3})})) << "nothing to pool";
  EXPECT_ANY_THROW(graph({at::randn({2, 3, 7, 7}).to(at::kDouble)})) << "type";
  EXPECT_ANY_THROW(graph({at::randn({3, 7, 7})})) << "one image without a batch";
}

// Graphs may name the operator by themselves.
TEST_F(Narrow, SettingsThatDoNotFitAreRefused) {
  register_narrow();
  const auto x = at::randn({1, 1, 7, 7});
  const auto weight = narrow_weight(at::randn({20, 1, 3, 3}));
  const auto bias = at::randn({20});
  const auto call = [&](const at::Tensor& with_weight, const at::Tensor& with_bias,
                        const Numbers& stride, const Numbers& padding) {
    torch::jit::Stack stack{x, with_weight, with_bias, stride, padding, false, false};
    c10::Dispatcher::singleton().findSchemaOrThrow(kNarrow, "").callBoxed(stack);
  };
  EXPECT_NO_THROW(call(weight, bias, {1, 1}, {1}));
  for (const auto& stride : {Numbers{0, 1}, {1, -1}, {}, {1, 1, 1}, {std::int64_t{1} << 62}}) {
    EXPECT_ANY_THROW(call(weight, bias, stride, {0, 0}));
  }
  const auto largest = std::numeric_limits<std::int64_t>::max();
  for (const auto& padding : {Numbers{-1}, {}, {1, 1, 1}, {largest, largest}, {0, largest}}) {
    EXPECT_ANY_THROW(call(weight, bias, {1, 1}, padding));
  }
  EXPECT_ANY_THROW(call(weight, at::randn({25}), {1}, {0})) << "biases";
  EXPECT_ANY_THROW(call(weight, at::randn({4, 5}), {1}, {0})) << "biases in rows";
  EXPECT_ANY_THROW(call(weight.flatten(), bias, {1}, {0})) << "a flat weight";
  EXPECT_ANY_THROW(call(weight, bias.to(at::kMeta), {1}, {0})) << "no memory";
}

TEST_F(Narrow, NanReachesTheSamePlaces) {
  const Layer layer(2, 20);
  Replaced graph(layer, {.relu = "aten::relu"});
  Replaced pooled(layer, {.relu = "aten::relu", .pool = Pool{}});
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t column = 0; column < 6; ++column) {
      auto x = at::randn({2, 2, 6, 6});
      x[1][1][row][column].fill_(std::nan(""));
      const auto exact = at::relu(layer.exact(x));
      EXPECT_TRUE(graph({x}).isnan().equal(exact.isnan())) << row << ", " << column;
      const auto maxima = at::max_pool2d(exact, {2, 2});
      EXPECT_TRUE(pooled({x}).isnan().equal(maxima.isnan())) << row << ", " << column;
    }
  }
}

TEST_F(Narrow, InfinitiesStay) {
  const Layer layer(2, 20);
  Replaced graph(layer);
  auto x = at::randn({1, 2, 6, 6});
  x[0][1][2][3].fill_(std::numeric_limits<float>::infinity());
  const auto exact = layer.exact(x);
  EXPECT_TRUE(graph({x}).isinf().equal(exact.isinf()));
  EXPECT_TRUE(graph({x}).lt(0).equal(exact.lt(0)));
}

TEST_F(Narrow, ImagesDoNotMoveEachOthersBits) {
  const Layer layer(3, 50, {5, 5});
  Replaced graph(layer, {.relu = "aten::relu"});
  const auto x = channels_last(at::randn({40, 3, 9, 9}));
  const auto together = graph({x});
  for (const std::int64_t i : {0, 7, 39}) {
    EXPECT_TRUE(graph({x.narrow(0, i, 1).clone()}).equal(together.narrow(0, i, 1)));
  }
}

// Whichever registers a number was computed in.
TEST_F(Narrow, PoolsOnTheWayOutHaveTheBitsOfPoolsAfterwards) {
  for (const std::int64_t out_channels : {4, 20, 38, 50}) {
    const Layer layer(3, out_channels, {5, 5});
    const auto x = at::randn({3, 3, 13, 12});
    const auto afterwards = at::max_pool2d(Replaced(layer, {.relu = "aten::relu"})({x}), {2, 2});
    const auto found = Replaced(layer, {.relu = "aten::relu", .pool = Pool{}})({x});
    EXPECT_TRUE(found.equal(afterwards)) << out_channels;
  }
}

TEST_F(Narrow, NoImages) {
  Replaced graph(Layer(1, 20));
  EXPECT_EQ(graph({at::empty({0, 1, 6, 6})}).sizes(), (Numbers{0, 20, 6, 6}));
}

}  // namespace
}  // namespace tally::model
