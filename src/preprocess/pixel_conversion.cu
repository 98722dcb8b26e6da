// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <algorithm>

#include <tally/device/launch.cuh>

#include "pixel_conversion.hpp"

namespace tally::preprocess {
namespace {

constexpr int kThreads = 256;
// Blocks take further pixels in a loop, so that each fills its table once for many of them.
constexpr std::int64_t kMaxBlocks = 4096;
constexpr int kPixels = 4;  // per thread and step: whole words to read and to write

template <class Word>
struct alignas(sizeof(Word) * kPixels) Words {
  Word at[kPixels];
};

// Converts four pixels: bytes are read four at a time and words written four at a time. Slots and
// device buffers are aligned for both.
template <int kChannels, class Word>
__device__ void convert_pixels(const Conversion& conversion, const Word* table,
                               std::int64_t group) {
  alignas(4) std::uint8_t pixels[kPixels * kChannels];
  const auto* const in = reinterpret_cast<const std::uint32_t*>(conversion.pixels);
  for (int c = 0; c < kChannels; ++c) {
    reinterpret_cast<std::uint32_t*>(pixels)[c] = in[group * kChannels + c];
  }
  auto* const out = static_cast<Words<Word>*>(conversion.out) + group * kChannels;
  Word words[kPixels * kChannels];
  for (int i = 0; i < kPixels * kChannels; ++i) {
    const int channel = i % kChannels;
    words[i] = table[channel * kLevels + pixels[i - channel + conversion.source[channel]]];
  }
  for (int k = 0; k < kChannels; ++k) {
    Words<Word> part;
    for (int i = 0; i < kPixels; ++i) part.at[i] = words[k * kPixels + i];
    out[k] = part;
  }
}

template <int kChannels, class Word>
__global__ void convert(const Conversion conversion) {
  __shared__ Word table[kChannels * kLevels];
  // Which places of the table are read depends on the data: shared memory serves such reads well.
  for (int i = threadIdx.x; i < kChannels * kLevels; i += kThreads) {
    table[i] = static_cast<const Word*>(conversion.table)[i];
  }
  __syncthreads();

  const std::int64_t num_groups = conversion.num_pixels / kPixels;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t group = first; group < num_groups; group += step) {
    convert_pixels<kChannels>(conversion, table, group);
  }
  // The last pixels, fewer than four, are converted one by one.
  const std::int64_t i = num_groups * kPixels + first;
  if (i >= conversion.num_pixels) return;
  for (int c = 0; c < kChannels; ++c) {
    const std::uint8_t level = conversion.pixels[i * kChannels + conversion.source[c]];
    static_cast<Word*>(conversion.out)[i * kChannels + c] = table[c * kLevels + level];
  }
}

}  // namespace

void launch_convert(const Conversion& conversion, void* stream) {
  if (conversion.num_pixels == 0) return;
  const bool gray = conversion.channels == 1;
  const bool narrow = conversion.word_bytes == 2;
  auto* const kernel = narrow ? (gray ? convert<1, std::uint16_t> : convert<3, std::uint16_t>)
                              : (gray ? convert<1, std::uint32_t> : convert<3, std::uint32_t>);
  // One group more gives a block to a batch of fewer than four pixels, too.
  const std::int64_t groups = conversion.num_pixels / kPixels + 1;
  const std::int64_t blocks = std::min(kMaxBlocks, (groups + kThreads - 1) / kThreads);
  device::launch("convert", kernel, blocks, kThreads, stream, conversion);
}

}  // namespace tally::preprocess
