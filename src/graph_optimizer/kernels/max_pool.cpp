// SPDX-License-Identifier: Apache-2.0
#include "kernels/max_pool.hpp"

#include <algorithm>
#include <vector>

namespace tally::graph_optimizer {
namespace {

// What a window covers, cut at the ends.
struct Covered {
  std::int64_t first, end;
};

Covered covered(const Window& window, std::int64_t index, std::int64_t length) {
  const auto first = index * window.stride - window.padding;
  return {std::max<std::int64_t>(first, 0), std::min(first + window.size, length)};
}

// The steps of a row are loops without branches over whole pixels. `__restrict` lets the compiler
// use vector instructions without asking whether memory overlaps.

template <class Bits>
[[gnu::always_inline]] inline void first_keys(const Bits* __restrict from, std::int64_t count,
                                              Bits infinity, Bits* __restrict keys) {
  for (std::int64_t i = 0; i < count; ++i) keys[i] = key_of(from[i], infinity);
}

template <class Bits>
[[gnu::always_inline]] inline void more_keys(const Bits* __restrict from, std::int64_t count,
                                             Bits infinity, Bits* __restrict keys) {
  for (std::int64_t i = 0; i < count; ++i) {
    keys[i] = std::max(keys[i], key_of(from[i], infinity));
  }
}

template <class Bits>
[[gnu::always_inline]] inline void keep_larger(const Bits* __restrict from, std::int64_t count,
                                               Bits* __restrict keys) {
  for (std::int64_t i = 0; i < count; ++i) keys[i] = std::max(keys[i], from[i]);
}

template <class Bits>
[[gnu::always_inline]] inline void back_to_numbers(std::int64_t count, Bits* keys) {
  for (std::int64_t i = 0; i < count; ++i) keys[i] = flip_negative(keys[i]);
}

template <class Bits>
[[gnu::always_inline]] inline void pool_row_of(const Bits* image, const PooledImage& shape,
                                               Bits infinity, std::int64_t row, Bits* pooled) {
  // The maximum over the window's rows is taken once for all windows of a pooled row, because they
  // share columns where they overlap. The memory stays from call to call, so that a row allocates
  // nothing.
  thread_local std::vector<Bits> memory;  // of each column, the maximum over the window's rows
  const auto width = shape.width * shape.channels;
  memory.resize(static_cast<std::size_t>(width));
  Bits* const keys = memory.data();
  const auto rows = covered(shape.down, row, shape.height);
  first_keys(image + rows.first * width, width, infinity, keys);
  for (auto y = rows.first + 1; y < rows.end; ++y) {
    more_keys(image + y * width, width, infinity, keys);
  }
  const auto channels = shape.channels;
  for (std::int64_t x = 0; x < shape.pooled_width(); ++x) {
    const auto columns = covered(shape.across, x, shape.width);
    Bits* const pixel = pooled + x * channels;
    std::copy_n(keys + columns.first * channels, channels, pixel);
    for (auto column = columns.first + 1; column < columns.end; ++column) {
      keep_larger(keys + column * channels, channels, pixel);
    }
  }
  back_to_numbers(shape.pooled_width() * channels, pooled);
}

}  // namespace

TALLY_ALSO_FOR_AVX2 void pool_row(const std::int16_t* image, const PooledImage& shape,
                                  std::int16_t infinity, std::int64_t row, std::int16_t* pooled) {
  pool_row_of(image, shape, infinity, row, pooled);
}

TALLY_ALSO_FOR_AVX2 void pool_row(const std::int32_t* image, const PooledImage& shape,
                                  std::int32_t infinity, std::int64_t row, std::int32_t* pooled) {
  pool_row_of(image, shape, infinity, row, pooled);
}

}  // namespace tally::graph_optimizer
