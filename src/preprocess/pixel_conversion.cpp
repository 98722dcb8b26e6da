// SPDX-License-Identifier: Apache-2.0
#include "pixel_conversion.hpp"

#include <algorithm>
#include <cstddef>

#include <tally/base/thread_team.hpp>

namespace tally::preprocess {
namespace {

// A part has at least so many pixels, which take some 30 us: to wake a thread takes 10.
constexpr std::int64_t kLeastPixels = 10'000;

// A table lookup needs no conversion and gives the value that was rounded once; unrolled over
// channels it runs at about one value per cycle.
template <int kChannels, class Word>
void convert(const Conversion& conversion) {
  const std::uint8_t* pixels = conversion.pixels;
  const auto* const table = static_cast<const Word*>(conversion.table);
  auto* out = static_cast<Word*>(conversion.out);
  const auto source = conversion.source;
  for (std::int64_t i = 0; i < conversion.num_pixels; ++i) {
    for (int c = 0; c < kChannels; ++c) {
      const auto channel = static_cast<std::size_t>(c);
      out[c] = table[c * kLevels + pixels[source[channel]]];
    }
    pixels += kChannels;
    out += kChannels;
  }
}

void convert_part(const Conversion& conversion) {
  const bool gray = conversion.channels == 1;
  if (conversion.word_bytes == 2) {
    // bfloat16 and float16 are both words of 16 bits, and the table has their bits.
    return gray ? convert<1, std::uint16_t>(conversion) : convert<3, std::uint16_t>(conversion);
  }
  return gray ? convert<1, std::uint32_t>(conversion) : convert<3, std::uint32_t>(conversion);
}

Conversion part_of(const Conversion& whole, std::int64_t first, std::int64_t end) {
  Conversion part = whole;
  part.pixels += first * whole.channels;
  part.out = static_cast<std::byte*>(whole.out) + first * whole.channels * whole.word_bytes;
  part.num_pixels = end - first;
  return part;
}

}  // namespace

void convert_on_cpu(const Conversion& conversion, ThreadTeam& team) {
  const std::int64_t pixels = conversion.num_pixels;
  const std::int64_t parts = std::clamp<std::int64_t>(pixels / kLeastPixels, 1, team.size());
  team.run(parts, [&](std::int64_t i) {
    convert_part(part_of(conversion, pixels * i / parts, pixels * (i + 1) / parts));
  });
}

}  // namespace tally::preprocess
