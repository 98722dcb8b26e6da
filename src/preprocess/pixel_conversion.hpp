// SPDX-License-Identifier: Apache-2.0
// From bytes to the words of the model's input, by a table: on the CPU and, as a kernel, on a GPU.
#pragma once

#include <array>
#include <cstdint>

namespace tally {
class ThreadTeam;
}

namespace tally::preprocess {

inline constexpr std::int64_t kLevels = 256;
inline constexpr int kMaxChannels = 3;

// pixels: u8 [num_pixels, channels]; table: [channels, 256] words of the output's type; out:
// [num_pixels, channels] such words. Channel c of the model is stored channel source[c]. Pointers
// are to memory of the device that does it.
struct Conversion {
  const std::uint8_t* pixels = nullptr;
  std::int64_t num_pixels = 0;
  int channels = 0;  // 1 or 3
  std::array<int, kMaxChannels> source = {};
  int word_bytes = 0;  // 2 or 4
  const void* table = nullptr;
  void* out = nullptr;
};

// Each thread converts some of the pixels; returns when all are.
void convert_on_cpu(const Conversion& conversion, ThreadTeam& team);
// Enqueues on `stream`, a cudaStream_t. Twins: pixel_conversion.cu and, in a build without CUDA,
// pixel_conversion_no_cuda.cpp, which nobody calls there.
void launch_convert(const Conversion& conversion, void* stream);

}  // namespace tally::preprocess
