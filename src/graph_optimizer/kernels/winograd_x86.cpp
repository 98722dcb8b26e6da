// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include <tally/libtorch/isa_cap.hpp>

#include "kernels/winograd.hpp"

namespace tally::graph_optimizer {
namespace {

// So many floats in one register.
using EightLanes [[gnu::vector_size(32)]] = float;
using SixteenLanes [[gnu::vector_size(64)]] = float;

template <class Lanes>
constexpr std::int64_t kLanes = sizeof(Lanes) / sizeof(float);

// Anywhere in an array of floats. (Copied bytewise they would take twice the instructions.)
template <class Lanes>
[[gnu::always_inline]] inline void load(const float* from, Lanes& to) {
  using Anywhere [[gnu::aligned(alignof(float)), gnu::may_alias]] = Lanes;
  to = *reinterpret_cast<const Anywhere*>(from);
}

template <class Lanes>
[[gnu::always_inline]] inline void store(const Lanes& from, float* to) {
  using Anywhere [[gnu::aligned(alignof(float)), gnu::may_alias]] = Lanes;
  *reinterpret_cast<Anywhere*>(to) = from;
}

// Keeps NaN.
template <class Lanes>
[[gnu::always_inline]] inline Lanes relu(const Lanes& x) {
  const Lanes zero = {};
  return x < zero ? zero : x;
}

constexpr std::int64_t kSide = 4;     // of a tile's input
constexpr std::int64_t kOutSide = 2;  // of a tile's output

// Tiles that are computed together, so that what lies between the steps stays in the caches of a
// core (with 64 channels, 650 KB); a multiple of the rows that a product takes at once.
constexpr std::int64_t kBlock = 90;
// Keeps rows of a power of two from sharing the same lines of the cache.
constexpr std::int64_t kGap = 16;

struct Tile {
  std::int64_t image, row, column;  // of the output's corner

  Tile(const WinogradShape& shape, std::int64_t index)
      : image(index / (shape.tiles_down() * shape.tiles_across())),
        row(index / shape.tiles_across() % shape.tiles_down() * kOutSide),
        column(index % shape.tiles_across() * kOutSide) {}
};

// Four numbers, `step` apart: the input's side of F(2, 3).
template <class Lanes>
[[gnu::always_inline]] inline void spread(Lanes* x, std::int64_t step) {
  const Lanes middle = x[step];
  const Lanes right = x[2 * step];
  x[0] = x[0] - right;
  x[step] = middle + right;
  x[2 * step] = right - middle;
  x[3 * step] = middle - x[3 * step];
}

// The output's side: two numbers of four.
template <class Lanes>
[[gnu::always_inline]] inline void gather(const Lanes* x, std::int64_t step, Lanes* y,
                                          std::int64_t y_step) {
  y[0] = x[0] + x[step] + x[2 * step];
  y[y_step] = x[step] - x[2 * step] - x[3 * step];
}

using Corners = std::array<const float*, kTileProducts>;

// Where the channels of each pixel of a tile begin; `zeros` where it is padding.
[[gnu::always_inline]] inline Corners corners_of(const float* images, const WinogradShape& shape,
                                                 const Tile& tile, const float* zeros) {
  Corners corners;
  for (std::int64_t i = 0; i < kTileProducts; ++i) {
    const auto row = tile.row + i / kSide - shape.padding_down;
    const auto column = tile.column + i % kSide - shape.padding_across;
    const bool is_inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
    const auto pixel = (tile.image * shape.height + row) * shape.width + column;
    corners[static_cast<std::size_t>(i)] = is_inside ? images + pixel * shape.channels : zeros;
  }
  return corners;
}

// Into [16, kBlock, channels + kGap], at one tile.
template <class Lanes>
[[gnu::always_inline]] inline void spread_tile(const Corners& corners, std::int64_t channels,
                                               float* tile) {
  const auto plane = kBlock * (channels + kGap);
  for (std::int64_t c = 0; c < channels; c += kLanes<Lanes>) {
    Lanes x[kTileProducts];
    for (std::int64_t i = 0; i < kTileProducts; ++i)
      load(corners[static_cast<std::size_t>(i)] + c, x[i]);
    for (std::int64_t row = 0; row < kSide; ++row) spread(x + row * kSide, 1);
    for (std::int64_t column = 0; column < kSide; ++column) spread(x + column, kSide);
    for (std::int64_t i = 0; i < kTileProducts; ++i) store(x[i], tile + i * plane + c);
  }
}

// kRows x (kRegisters * lanes) numbers of a product, in registers. `pitch`: of the rows.
template <class Lanes, std::size_t kRows, std::size_t kRegisters>
[[gnu::always_inline]] inline void multiply_rows(const float* rows, std::size_t pitch,
                                                 const float* weight, std::size_t channels,
                                                 float* products) {
  constexpr std::size_t kGroup = kChannelGroup;
  constexpr std::size_t kWidth = kLanes<Lanes>;
  Lanes sums[kRows][kRegisters] = {};
  for (std::size_t c = 0; c < channels; ++c) {
    Lanes w[kRegisters];
    for (std::size_t i = 0; i < kRegisters; ++i) load(weight + c * kGroup + i * kWidth, w[i]);
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t i = 0; i < kRegisters; ++i) sums[row][i] += rows[row * pitch + c] * w[i];
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t i = 0; i < kRegisters; ++i) {
      store(sums[row][i], products + row * kGroup + i * kWidth);
    }
  }
}

// One of a tile's 16 products for a group of channels: [count, channels] x [channels, 32].
template <class Lanes, std::size_t kRows, std::size_t kRegisters>
[[gnu::always_inline]] inline void multiply(const float* tiles, const float* weight,
                                            std::int64_t channels, std::int64_t count,
                                            float* products) {
  const auto pitch = channels + kGap;
  constexpr std::int64_t kStep = kRows;
  constexpr std::int64_t kAcross = kLanes<Lanes> * kRegisters;
  for (std::int64_t column = 0; column < kChannelGroup; column += kAcross) {
    for (std::int64_t row = 0; row < count; row += kStep) {
      multiply_rows<Lanes, kRows, kRegisters>(tiles + row * pitch, static_cast<std::size_t>(pitch),
                                              weight + column, static_cast<std::size_t>(channels),
                                              products + row * kChannelGroup + column);
    }
  }
}

// One number of each channel, on its way out.
template <class Lanes>
[[gnu::always_inline]] inline void put(Lanes x, const Lanes& bias, const WinogradFinish& finish,
                                       float* to) {
  x += bias;
  if (finish.adds) {
    Lanes there;
    load(to, there);
    x += there;
  }
  if (finish.has_relu) x = relu(x);
  store(x, to);
}

// A group of channels of one tile, from [16, kBlock, 32].
template <class Lanes>
[[gnu::always_inline]] inline void gather_tile(const float* products, const WinogradShape& shape,
                                               const Tile& tile, const WinogradFinish& finish,
                                               std::int64_t first_channel, float* out) {
  const auto rows = std::min(kOutSide, shape.out_height() - tile.row);
  const auto columns = std::min(kOutSide, shape.out_width() - tile.column);
  const auto corner =
      (tile.image * shape.out_height() + tile.row) * shape.out_width() + tile.column;
  for (std::int64_t c = 0; c < kChannelGroup; c += kLanes<Lanes>) {
    Lanes x[kTileProducts];
    Lanes halves[kOutSide * kSide];
    Lanes y[kOutSide * kOutSide];
    Lanes bias;
    for (std::int64_t i = 0; i < kTileProducts; ++i)
      load(products + i * kBlock * kChannelGroup + c, x[i]);
    for (std::int64_t i = 0; i < kSide; ++i) gather(x + i, kSide, halves + i, kSide);
    for (std::int64_t i = 0; i < kOutSide; ++i) gather(halves + i * kSide, 1, y + i * kOutSide, 1);
    load(finish.bias + first_channel + c, bias);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto pixel = corner + i * shape.out_width() + j;
        put(y[i * kOutSide + j], bias, finish,
            out + pixel * shape.out_channels + first_channel + c);
      }
    }
  }
}

template <class Lanes, std::size_t kRows, std::size_t kRegisters>
[[gnu::always_inline]] inline void convolve(const float* images, const float* weight,
                                            const WinogradShape& shape,
                                            const WinogradFinish& finish, float* out) {
  static_assert(kBlock % kRows == 0);
  const auto channels = shape.channels;
  const auto plane = kBlock * (channels + kGap);
  const std::vector<float> zeros(static_cast<std::size_t>(channels));
  // Rows beyond the last tile are multiplied, too, and forgotten.
  std::vector<float> tiles(static_cast<std::size_t>(kTileProducts * plane));
  std::vector<float> products(static_cast<std::size_t>(kTileProducts * kBlock * kChannelGroup));
  for (std::int64_t first = 0; first < shape.num_tiles(); first += kBlock) {
    const auto count = std::min(kBlock, shape.num_tiles() - first);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto corners = corners_of(images, shape, Tile(shape, first + i), zeros.data());
      spread_tile<Lanes>(corners, channels, tiles.data() + i * (channels + kGap));
    }
    // The transformed tiles of a block stay in the caches for all groups of output channels. Only
    // the weights come from memory for each block.
    for (std::int64_t group = 0; group < shape.out_channels / kChannelGroup; ++group) {
      for (std::int64_t i = 0; i < kTileProducts; ++i) {
        multiply<Lanes, kRows, kRegisters>(
            tiles.data() + i * plane,
            weight + (group * kTileProducts + i) * channels * kChannelGroup, channels, count,
            products.data() + i * kBlock * kChannelGroup);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        gather_tile<Lanes>(products.data() + i * kChannelGroup, shape, Tile(shape, first + i),
                           finish, group * kChannelGroup, out);
      }
    }
  }
}

// Sums fill the registers, of which there are 16 and 32.
[[gnu::target("avx2,fma")]] void convolve_avx2(const float* images, const float* weight,
                                               const WinogradShape& shape,
                                               const WinogradFinish& finish, float* out) {
  convolve<EightLanes, 6, 2>(images, weight, shape, finish, out);
}

[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,fma")]] void convolve_avx512(
    const float* images, const float* weight, const WinogradShape& shape,
    const WinogradFinish& finish, float* out) {
  convolve<SixteenLanes, 9, 2>(images, weight, shape, finish, out);
}

}  // namespace

int winograd_lanes() {
  const auto allowed = libtorch::allowed_vectors();
  if (allowed == libtorch::VectorSet::none || __builtin_cpu_supports("avx2") == 0 ||
      __builtin_cpu_supports("fma") == 0) {
    return 0;
  }
  const bool has_avx512 =
      allowed == libtorch::VectorSet::avx512 && __builtin_cpu_supports("avx512f") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0;
  return has_avx512 ? 16 : 8;
}

void convolve_by_winograd(int lanes, const float* images, const float* weight,
                          const WinogradShape& shape, const WinogradFinish& finish, float* out) {
  const auto convolve = lanes == 16 ? convolve_avx512 : convolve_avx2;
  convolve(images, weight, shape, finish, out);
}

}  // namespace tally::graph_optimizer
