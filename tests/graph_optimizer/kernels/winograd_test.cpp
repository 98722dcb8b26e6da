// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 by Winograd against LibTorch's own in double precision.
#include <algorithm>
#include <limits>
#include <tuple>

#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>

#include "convolution_fixture.hpp"

namespace tally::graph_optimizer {
namespace {

TEST_F(Winograd, ImagesOfAllSizes) {
  for (std::int64_t padding : {0, 1, 2}) {
    Layer layer(48, 64);
    layer.padding = {padding, padding};
    Convolved graph(layer);
    ASSERT_TRUE(graph.is_replaced());
    for (std::int64_t height = std::max<std::int64_t>(3 - 2 * padding, 1); height < 9; ++height) {
      for (std::int64_t width : {3, 4, 7, 10}) {
        const auto x = at::randn({3, 48, height, width});
        for (const auto& input : {x, channels_last(x)}) {
          const auto found = graph({input});
          const auto exact = layer.exact(x);
          ASSERT_EQ(found.sizes(), exact.sizes());
          EXPECT_TRUE(found.is_contiguous(at::MemoryFormat::ChannelsLast));
          EXPECT_LT(largest_error(found, exact), 1e-5) << height << " x " << width;
        }
      }
    }
  }
}

TEST_F(Winograd, PaddingOfEachDimension) {
  Layer layer(64, 64);
  layer.padding = {0, 2};
  const auto x = at::randn({2, 64, 6, 5});
  EXPECT_LT(largest_error(Convolved(layer)({x}), layer.exact(x)), 1e-5);
  layer.padding = {1};
  layer.weight = channels_last(layer.weight);  // as frozen modules hold them
  EXPECT_LT(largest_error(Convolved(layer)({x}), layer.exact(x)), 1e-5);
}

// The layers of a ResNet-18 and of a SqueezeNet, whose channels are no powers of two.
TEST_F(Winograd, IsNoLessExactThanDirectConvolution) {
  for (const auto& [channels, out_channels, size] :
       {std::tuple{64, 64, 56}, {128, 128, 28}, {256, 256, 14}, {512, 512, 7}, {48, 192, 13}}) {
    const Layer layer(channels, out_channels);
    Convolved graph(layer, {.relu = "aten::relu"});
    ASSERT_TRUE(graph.is_replaced());
    const auto x = channels_last(at::relu(at::randn({2, channels, size, size})));
    const auto exact = at::relu(layer.exact(x));
    const auto error = root_mean_square(graph({x}).to(at::kDouble) - exact);
    const auto direct = root_mean_square(at::relu(layer.direct(x)).to(at::kDouble) - exact);
    EXPECT_LT(error, direct) << channels << " channels";
  }
}

TEST_F(Winograd, HasNoBias) {
  Layer layer(64, 32);
  layer.weight = at::randn({96, 64, 3, 3});
  layer.bias.reset();
  const auto x = at::randn({1, 64, 6, 6});
  EXPECT_LT(largest_error(Convolved(layer)({x}), layer.exact(x)), 1e-4);
}

TEST_F(Winograd, ImagesThatDoNotFitAreRefused) {
  Layer layer(64, 64);
  layer.padding = {0, 0};
  Convolved graph(layer);
  ASSERT_TRUE(graph.is_replaced());
  EXPECT_ANY_THROW(graph({at::randn({2, 80, 7, 7})})) << "channels";
  EXPECT_ANY_THROW(graph({at::randn({2, 64, 7, 2})})) << "smaller than the window";
  EXPECT_ANY_THROW(graph({at::randn({2, 64, 7, 7}).to(at::kDouble)})) << "type";
  EXPECT_ANY_THROW(graph({at::randn({64, 7, 7})})) << "one image without a batch";
}

TEST_F(Winograd, NanReachesTheSamePlaces) {
  const Layer layer(64, 64);
  Convolved graph(layer, {.relu = "aten::relu"});
  for (std::int64_t row = 0; row < 5; ++row) {
    for (std::int64_t column = 0; column < 5; ++column) {
      auto x = at::randn({2, 64, 5, 5});
      x[1][3][row][column].fill_(std::nan(""));
      EXPECT_TRUE(graph({x}).isnan().equal(layer.exact(x).isnan())) << row << ", " << column;
    }
  }
}

TEST_F(Winograd, InfinitiesDoNotBecomeFinite) {
  const Layer layer(64, 64);
  Convolved graph(layer);
  auto x = at::randn({1, 64, 6, 6});
  x[0][5][2][3].fill_(std::numeric_limits<float>::infinity());
  const auto is_finite = graph({x}).isfinite();
  EXPECT_TRUE(is_finite.equal(layer.exact(x).isfinite()));
}

TEST_F(Winograd, ImagesDoNotMoveEachOthersBits) {
  const Layer layer(64, 64);
  Convolved graph(layer, {.relu = "aten::relu"});
  const auto x = channels_last(at::randn({40, 64, 9, 9}));
  const auto together = graph({x});
  for (const std::int64_t i : {0, 7, 39}) {
    EXPECT_TRUE(graph({x.narrow(0, i, 1).clone()}).equal(together.narrow(0, i, 1)));
  }
}

// 120 tiles, of which 90 are computed together.
TEST_F(Winograd, AllWidthsOfRegistersGiveTheSameBits) {
  if (winograd_lanes() < 16) GTEST_SKIP() << "this processor has no AVX-512";
  const WinogradShape shape{4, 9, 11, 48, 64, 1, 1};
  const auto x = at::randn({4, 9, 11, 48});
  const auto weight = at::randn({2, 16, 48, 32});
  const auto bias = at::randn({64});
  const auto there = at::randn({4, 9, 11, 64});
  for (const bool adds : {false, true}) {
    std::vector<at::Tensor> found;
    for (const int lanes : {8, 16}) {
      found.push_back(there.clone());
      convolve_by_winograd(lanes, x.const_data_ptr<float>(), weight.const_data_ptr<float>(), shape,
                           {bias.const_data_ptr<float>(), adds, true},
                           found.back().mutable_data_ptr<float>());
    }
    EXPECT_TRUE(found[0].equal(found[1]));
  }
}

TEST_F(Winograd, NoImages) {
  Convolved graph(Layer(64, 64));
  EXPECT_EQ(graph({at::empty({0, 64, 6, 6})}).sizes(), (Numbers{0, 64, 6, 6}));
}

}  // namespace
}  // namespace tally::graph_optimizer
