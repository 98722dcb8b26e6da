#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "isa_cap.hpp"
#include "lanes_x86.hpp"
#include "narrow.hpp"

namespace tally::model {
namespace {

// An image whose padding is in memory, and what it goes through. (Handed on by value: what lies in
// registers need not be read again after each store.)
struct Padded {
  const float* image;  // [height, width, channels]
  const float* bias;   // filled up to whole groups
  NarrowShape shape;
  bool has_relu;

  // Floats from one to the next, of the image and of the weights.
  std::int64_t row() const { return (shape.width + 2 * shape.padding_across) * shape.channels; }
  std::int64_t run() const { return shape.window_width * shape.channels; }
  std::int64_t group() const { return shape.window_height * run() * kNarrowGroup; }
};

// Sums of kPixels windows, which begin at `pixels`, in registers.
template <std::size_t kGroups, std::size_t kPixels>
[[gnu::always_inline]] inline void add_windows(const Padded padded,
                                               std::array<const float*, kPixels> pixels,
                                               const float* weight,
                                               EightLanes (&sums)[kPixels][kGroups]) {
  const auto run = static_cast<std::size_t>(padded.run());
  const auto group = static_cast<std::size_t>(padded.group());
  for (std::int64_t row = 0; row < padded.shape.window_height; ++row) {
    for (std::size_t i = 0; i < run; ++i) {
      EightLanes w[kGroups];
      for (std::size_t g = 0; g < kGroups; ++g) load(weight + g * group, w[g]);
      for (std::size_t p = 0; p < kPixels; ++p) {
        for (std::size_t g = 0; g < kGroups; ++g) sums[p][g] += pixels[p][i] * w[g];
      }
      weight += kNarrowGroup;
    }
    for (auto& pixel : pixels) pixel += padded.row();
  }
}

// Of which NaN is the larger one.
[[gnu::always_inline]] inline EightLanes larger(const EightLanes& x, const EightLanes& y) {
  const EightLanes of_numbers = x < y ? y : x;
  return y != y ? y : of_numbers;  // NOLINT(misc-redundant-expression): so is NaN, and only it
}

// The first `count` of them, at most all.
[[gnu::always_inline]] inline void put(const EightLanes& x, std::int64_t count, float* to) {
  if (count >= kNarrowGroup) return store(x, to);
  std::array<float, kNarrowGroup> numbers;
  store(x, numbers.data());
  const float* from = numbers.data();
  // Of sizes known to the compiler: moved by one instruction each.
  for (const std::int64_t size : {4, 2, 1}) {
    if ((count & size) == 0) continue;
    std::memcpy(to, from, static_cast<std::size_t>(size) * sizeof(float));
    from += size;
    to += size;
  }
}

// Where the windows of one number of the output begin, kPool x kPool of them; and on to the next
// number, row by row.
template <std::size_t kPool>
struct Walk {
  std::int64_t row = 0;
  std::int64_t column = 0;

  [[gnu::always_inline]] const float* window(const Padded padded, std::size_t index) const {
    const auto& shape = padded.shape;
    const auto down = row * std::int64_t{kPool} + static_cast<std::int64_t>(index / kPool);
    const auto across = column * std::int64_t{kPool} + static_cast<std::int64_t>(index % kPool);
    return padded.image + down * shape.stride_down * padded.row() +
           across * shape.stride_across * shape.channels;
  }
  [[gnu::always_inline]] void advance(const Padded padded) {
    column = column + 1 == padded.shape.out_width() ? 0 : column + 1;
    if (column == 0) ++row;
  }
};

// kGroups groups of the output's channels, from `channel` on, of one image. What lies beyond the
// last number is computed, too, as the last one again, and forgotten.
template <std::size_t kGroups, std::size_t kPixels, std::size_t kPool>
[[gnu::always_inline]] inline void convolve_groups(const Padded padded, std::int64_t channel,
                                                   const float* weight, float* out) {
  constexpr std::size_t kPooled = kPool * kPool;
  constexpr std::size_t kStep = kPixels / kPooled;
  const auto count = padded.shape.out_height() * padded.shape.out_width();
  const auto left = padded.shape.out_channels - channel;
  EightLanes bias[kGroups];
  for (std::size_t g = 0; g < kGroups; ++g) load(padded.bias + channel + g * kNarrowGroup, bias[g]);
  out += channel;
  Walk<kPool> walk;
  for (std::int64_t done = 0; done < count;) {
    std::array<const float*, kPixels> windows;
    for (std::size_t i = 0; i < kStep; ++i) {
      for (std::size_t p = 0; p < kPooled; ++p) windows[i * kPooled + p] = walk.window(padded, p);
      if (done + static_cast<std::int64_t>(i) + 1 < count) walk.advance(padded);
    }
    EightLanes sums[kPixels][kGroups] = {};
    add_windows<kGroups, kPixels>(padded, windows, weight, sums);
    // (A number of turns that is known, or else sums would not stay in registers.)
    for (std::size_t i = 0; i < kStep; ++i) {
      if (done == count) continue;
      for (std::size_t g = 0; g < kGroups; ++g) {
        EightLanes x = sums[i * kPooled][g];
        for (std::size_t p = 1; p < kPooled; ++p) x = larger(x, sums[i * kPooled + p][g]);
        x += bias[g];
        const auto at = static_cast<std::int64_t>(g) * kNarrowGroup;
        put(padded.has_relu ? relu(x) : x, left - at, out + at);
      }
      out += padded.shape.out_channels;
      ++done;
    }
  }
}

// Sums fill the 16 registers, beside what they are made of.
[[gnu::target("avx2,fma")]] void convolve_image(const Padded padded, const float* weight,
                                                float* out) {
  const auto& shape = padded.shape;
  for (std::int64_t first = 0; first < shape.num_groups();) {
    const auto left = shape.num_groups() - first;
    const auto most = shape.pool == 2 ? 3 : 4;
    const auto taken = left == most + 1 ? most - 1 : std::min<std::int64_t>(left, most);
    const auto channel = first * kNarrowGroup;
    const auto* const from = weight + first * padded.group();
    if (shape.pool == 2) {
      if (taken == 3) convolve_groups<3, 4, 2>(padded, channel, from, out);
      if (taken == 2) convolve_groups<2, 4, 2>(padded, channel, from, out);
      if (taken == 1) convolve_groups<1, 8, 2>(padded, channel, from, out);
    } else {
      if (taken == 4) convolve_groups<4, 3, 1>(padded, channel, from, out);
      if (taken == 3) convolve_groups<3, 4, 1>(padded, channel, from, out);
      if (taken == 2) convolve_groups<2, 6, 1>(padded, channel, from, out);
      if (taken == 1) convolve_groups<1, 8, 1>(padded, channel, from, out);
    }
    first += taken;
  }
}

// Between zeros, which stay from image to image.
void pad(const float* image, const NarrowShape& shape, std::vector<float>& padded) {
  const auto row = shape.width * shape.channels;
  const auto padded_row = row + 2 * shape.padding_across * shape.channels;
  auto* to =
      padded.data() + shape.padding_down * padded_row + shape.padding_across * shape.channels;
  for (std::int64_t i = 0; i < shape.height; ++i, to += padded_row) {
    std::copy_n(image + i * row, row, to);
  }
}

}  // namespace

bool has_narrow_convolution() {
  return allowed_vectors() != VectorSet::none && __builtin_cpu_supports("avx2") != 0 &&
         __builtin_cpu_supports("fma") != 0;
}

void convolve_narrow(const float* images, const NarrowLayer& layer, const NarrowShape& shape,
                     float* out) {
  const bool has_padding = shape.padding_down + shape.padding_across > 0;
  const auto padded_size = (shape.height + 2 * shape.padding_down) *
                           (shape.width + 2 * shape.padding_across) * shape.channels;
  std::vector<float> padded(has_padding ? static_cast<std::size_t>(padded_size) : 0);
  std::vector<float> bias(static_cast<std::size_t>(shape.num_groups() * kNarrowGroup));
  std::copy_n(layer.bias, shape.out_channels, bias.begin());
  for (std::int64_t i = 0; i < shape.num_images; ++i) {
    const float* image = images + i * shape.height * shape.width * shape.channels;
    if (has_padding) pad(image, shape, padded);
    convolve_image({has_padding ? padded.data() : image, bias.data(), shape, layer.has_relu},
                   layer.weight, out);
    out += shape.out_height() * shape.out_width() * shape.out_channels;
  }
}

}  // namespace tally::model
