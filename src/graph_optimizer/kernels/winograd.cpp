// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd.hpp"

#include <array>

namespace tally::graph_optimizer {
namespace {

using Three = std::array<double, 3>;
using Four = std::array<double, 4>;

// The weights' side of F(2, 3).
Four spread(const Three& taps) {
  const auto ends = taps[0] + taps[2];
  return {taps[0], (ends + taps[1]) / 2, (ends - taps[1]) / 2, taps[2]};
}

}  // namespace

void transform_weights(const WinogradWeights& weights, float* transformed) {
  const auto tap = [&](std::int64_t out, std::int64_t channel, std::int64_t i, std::int64_t j) {
    return static_cast<double>(
        weights.data[out * weights.strides[0] + channel * weights.strides[1] +
                     i * weights.strides[2] + j * weights.strides[3]]);
  };
  const auto pitch = weights.channels * kChannelGroup;  // from one product to the next
  for (std::int64_t out = 0; out < weights.out_channels; ++out) {
    auto* const begin =
        transformed + out / kChannelGroup * kTileProducts * pitch + out % kChannelGroup;
    for (std::int64_t channel = 0; channel < weights.channels; ++channel) {
      std::array<Four, 3> rows;
      for (std::int64_t i = 0; i < 3; ++i) {
        rows[static_cast<std::size_t>(i)] =
            spread({tap(out, channel, i, 0), tap(out, channel, i, 1), tap(out, channel, i, 2)});
      }
      auto* to = begin + channel * kChannelGroup;
      std::array<Four, 4> columns;
      for (std::size_t j = 0; j < 4; ++j) columns[j] = spread({rows[0][j], rows[1][j], rows[2][j]});
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j, to += pitch) *to = static_cast<float>(columns[j][i]);
      }
    }
  }
}

}  // namespace tally::graph_optimizer
