#include "convert.hpp"

namespace tally::preprocess {
namespace {

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

}  // namespace

void convert_on_cpu(const Conversion& conversion) {
  const bool gray = conversion.channels == 1;
  if (conversion.word_bytes == 2) {
    return gray ? convert<1, std::uint16_t>(conversion) : convert<3, std::uint16_t>(conversion);
  }
  return gray ? convert<1, std::uint32_t>(conversion) : convert<3, std::uint32_t>(conversion);
}

}  // namespace tally::preprocess
