// Convolutions for networks of few channels. oneDNN computes as many channels of the output at a
// time as the widest registers hold, 16 with AVX-512: here it is 8, so that of 20 or 50 channels
// fewer numbers are computed for nothing.
#pragma once

#include <cstdint>

namespace tally::model {

// Channels of the output are computed in groups of so many, the last one filled up.
inline constexpr std::int64_t kNarrowGroup = 8;

// Whether this processor can, and may (isa_cap.hpp): AVX2 and FMA.
bool has_narrow_convolution();

struct NarrowShape {
  std::int64_t num_images, height, width, channels;  // of the input, channels last
  std::int64_t out_channels;
  std::int64_t window_height, window_width;
  std::int64_t stride_down, stride_across;
  std::int64_t padding_down, padding_across;
  std::int64_t pool;  // 2: of each 2x2 pixels only the maximum is kept; else 1

  std::int64_t out_height() const {
    return ((height + 2 * padding_down - window_height) / stride_down + 1) / pool;
  }
  std::int64_t out_width() const {
    return ((width + 2 * padding_across - window_width) / stride_across + 1) / pool;
  }
  std::int64_t num_groups() const { return (out_channels + kNarrowGroup - 1) / kNarrowGroup; }
};

struct NarrowLayer {
  const float* weight;  // [num_groups, window_height, window_width, channels, 8], zeros at its end
  const float* bias;    // [out_channels]
  bool has_relu;        // which keeps NaN
};

// On the calling thread; NaN is a maximum, and biases, added to maxima, are finite. `out` is
// [num_images, out_height, out_width, out_channels]. Bits of an image do not depend on the others.
// Takes the memory of one padded image.
void convolve_narrow(const float* images, const NarrowLayer& layer, const NarrowShape& shape,
                     float* out);

}  // namespace tally::model
