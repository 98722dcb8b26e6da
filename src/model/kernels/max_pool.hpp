// Maxima of windows over images whose channels come last.
#pragma once

#include <cstdint>

namespace tally::model {

// How a window moves along one dimension. At most half of it hangs over the beginning; over the end
// more of it does where sizes are rounded up (ceil_mode).
struct Window {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // at each end; never the maximum
};

struct PooledImage {
  std::int64_t height, width, channels;
  Window down, across;
  bool rounds_up = false;  // LibTorch's ceil_mode: a last window that reaches beyond the end counts

  // Windows along a dimension of `length`; all begin before its end.
  constexpr std::int64_t count(std::int64_t length, const Window& window) const {
    const auto last = length + 2 * window.padding - window.size;
    const auto steps = (last + (rounds_up ? window.stride - 1 : 0)) / window.stride;
    return steps * window.stride < length + window.padding ? steps + 1 : steps;
  }
  constexpr std::int64_t pooled_height() const { return count(height, down); }
  constexpr std::int64_t pooled_width() const { return count(width, across); }
};

// Row `row` of the pooled image: [pooled_width, channels]. `image` is [height, width, channels];
// its numbers are floating-point ones as bits, of which `infinity` is the positive one. NaN is the
// maximum wherever it stands, and 0 is larger than -0.
void pool_row(const std::int16_t* image, const PooledImage& shape, std::int16_t infinity,
              std::int64_t row, std::int16_t* pooled);
void pool_row(const std::int32_t* image, const PooledImage& shape, std::int32_t infinity,
              std::int64_t row, std::int32_t* pooled);

}  // namespace tally::model
