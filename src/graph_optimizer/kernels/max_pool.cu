// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <tally/device/launch.cuh>

#include "kernels/max_pool.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostThreads = std::int64_t{1} << 30;  // of a launch: 32 bits number them

template <class Bits>
struct alignas(kPoolBytes) Words {
  static constexpr int kCount = kPoolBytes / sizeof(Bits);
  Bits at[kCount];
};

// What a window covers of a dimension, cut at its ends.
struct Covered {
  std::int64_t first, end;
};

__device__ Covered covered(const Window& window, std::int64_t index, std::int64_t length) {
  const std::int64_t first = index * window.stride - window.padding;
  const std::int64_t end = first + window.size;
  return {first < 0 ? 0 : first, end < length ? end : length};
}

template <class Bits>
__device__ void keep_larger(const Words<Bits>& words, Bits infinity, Words<Bits>& keys) {
  for (int k = 0; k < Words<Bits>::kCount; ++k) {
    const Bits key = key_of(words.at[k], infinity);
    keys.at[k] = key > keys.at[k] ? key : keys.at[k];
  }
}

// A thread to a few channels of a pooled pixel.
template <class Bits>
__global__ void max_pool(const ImagesToPool work, const std::int64_t num_threads) {
  const std::int64_t number = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (number >= num_threads) return;
  const PooledImage& shape = work.shape;
  // GPUs divide numbers of 32 bits several times as fast as those of 64.
  const auto parts = static_cast<unsigned>(shape.channels / Words<Bits>::kCount);
  const auto out_width = static_cast<unsigned>(shape.pooled_width());
  const auto out_height = static_cast<unsigned>(shape.pooled_height());
  const auto i = static_cast<unsigned>(number);
  const unsigned part = i % parts;
  const unsigned pixel = i / parts;
  const unsigned row = pixel / out_width;
  const auto rows = covered(shape.down, row % out_height, shape.height);
  const auto columns = covered(shape.across, pixel % out_width, shape.width);
  const auto* const image = static_cast<const Words<Bits>*>(work.images) +
                            row / out_height * shape.height * shape.width * parts;
  Words<Bits> keys;
  for (Bits& key : keys.at) key = std::numeric_limits<Bits>::min();
  for (std::int64_t y = rows.first; y < rows.end; ++y) {
    for (std::int64_t x = columns.first; x < columns.end; ++x) {
      const Words<Bits> words = image[(y * shape.width + x) * parts + part];
      keep_larger(words, static_cast<Bits>(work.infinity), keys);
    }
  }
  for (Bits& key : keys.at) key = flip_negative(key);
  static_cast<Words<Bits>*>(work.pooled)[number] = keys;
}

template <class Bits>
void launch(ImagesToPool images, void* stream) {
  const PooledImage& shape = images.shape;
  const std::int64_t image_words = shape.height * shape.width * shape.channels;
  const std::int64_t pooled_words = shape.pooled_height() * shape.pooled_width() * shape.channels;
  const std::int64_t threads = pooled_words / Words<Bits>::kCount;  // of an image
  const std::int64_t most = threads < kMostThreads ? kMostThreads / threads : 1;
  for (std::int64_t left = images.num_images; left > 0; left -= most) {
    images.num_images = left < most ? left : most;
    const std::int64_t all = images.num_images * threads;
    device::launch("max_pool", max_pool<Bits>, (all + kThreads - 1) / kThreads, kThreads, stream,
                   images, all);
    images.images = static_cast<const Bits*>(images.images) + most * image_words;
    images.pooled = static_cast<Bits*>(images.pooled) + most * pooled_words;
  }
}

}  // namespace

void launch_max_pool(const ImagesToPool& images, void* stream) {
  if (images.word_bytes == 2) return launch<std::int16_t>(images, stream);
  launch<std::int32_t>(images, stream);
}

}  // namespace tally::graph_optimizer
