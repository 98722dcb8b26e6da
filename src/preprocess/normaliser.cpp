#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/preprocess/normaliser.hpp>

namespace tally::preprocess {
namespace {

constexpr std::size_t kLevels = 256;

// For each channel of `wanted` the place where `stored` has it.
std::vector<std::int64_t> permutation(std::string_view stored, std::string_view wanted) {
  const auto known = [](std::string_view order) {
    return order == "RGB" || order == "BGR" || order == "L";
  };
  if (!known(stored) || !known(wanted) || stored.size() != wanted.size()) {
    throw Error(
        ErrorKind::model,
        format("the data set's images have channels '{}', the model takes '{}'", stored, wanted),
        "Prepare the data set with the model's channels.");
  }
  std::vector<std::int64_t> source;
  for (const char channel : wanted) {
    source.push_back(checked_cast<std::int64_t>(stored.find(channel)));
  }
  return source;
}

void require_sizes(const Shape& stored, std::size_t num_channels, const Normalisation& wanted) {
  if (stored.size() != 4 || stored[3] != checked_cast<std::int64_t>(num_channels)) {
    throw Error(ErrorKind::dataset, format("images lie as {}, expected [batch, height, width, {}]",
                                           to_string(stored), num_channels));
  }
  if (wanted.mean.size() != num_channels || wanted.std.size() != num_channels) {
    throw Error(ErrorKind::dataset,
                format("the normalisation has {} values in mean and {} in std, channels '{}' need "
                       "{} of each",
                       wanted.mean.size(), wanted.std.size(), wanted.channels, num_channels));
  }
}

std::vector<float> make_table(const Normalisation& wanted) {
  std::vector<float> table;
  table.reserve(wanted.mean.size() * kLevels);
  for (std::size_t c = 0; c < wanted.mean.size(); ++c) {
    for (std::size_t level = 0; level < kLevels; ++level) {
      const double value =
          (static_cast<double>(level) * wanted.scale - wanted.mean[c]) / wanted.std[c];
      table.push_back(static_cast<float>(value));
      if (!std::isfinite(table.back())) {
        throw Error(
            ErrorKind::dataset,
            format("the normalisation (scale {}, mean {}, std {}) of channel '{}' makes {} "
                   "of the byte {}, expected a finite number",
                   wanted.scale, wanted.mean[c], wanted.std[c], wanted.channels[c], value, level));
      }
    }
  }
  return table;
}

// pixels: u8 [num_pixels, C]; out: f32 [num_pixels, C]; table: f32 [C, 256]. A table lookup needs
// no conversion and gives the value that was rounded once; unrolled over channels it runs at about
// one value per cycle.
template <std::size_t kChannels>
void convert(const std::uint8_t* pixels, std::int64_t num_pixels, const float* table,
             const std::vector<std::int64_t>& source_channel, float* out) {
  std::array<std::int64_t, kChannels> source;
  for (std::size_t c = 0; c < kChannels; ++c) source[c] = source_channel[c];
  for (std::int64_t i = 0; i < num_pixels; ++i) {
    for (std::size_t c = 0; c < kChannels; ++c) out[c] = table[c * kLevels + pixels[source[c]]];
    pixels += kChannels;
    out += kChannels;
  }
}

}  // namespace

Normaliser::Normaliser(Shape stored, const std::string& stored_channels,
                       const Normalisation& wanted, const device::Device& device)
    : stored_(std::move(stored)), source_channel_(permutation(stored_channels, wanted.channels)) {
  require_sizes(stored_, source_channel_.size(), wanted);
  table_ = make_table(wanted);
  output_ = device::HostBuffer(num_elements(stored_) * size_bytes(DType::f32), device);
}

TensorView Normaliser::run(const TensorView& pixels) {
  const bool same_rows = pixels.shape.size() == 4 &&
                         std::equal(stored_.begin() + 1, stored_.end(), pixels.shape.begin() + 1);
  if (pixels.dtype != DType::u8 || !same_rows || pixels.shape[0] > stored_[0] ||
      pixels.strides != contiguous_strides(pixels.shape)) {
    throw Error(ErrorKind::internal,
                format("the normaliser for contiguous uint8 {} was given {} {}", to_string(stored_),
                       name(pixels.dtype), to_string(pixels.shape)));
  }
  const std::int64_t height = stored_[1], width = stored_[2], channels = stored_[3];
  const std::int64_t num_pixels = pixels.shape[0] * height * width;
  auto* const out = reinterpret_cast<float*>(output_.data());
  const auto* const in = pixels.as<const std::uint8_t>();
  const auto body = channels == 1 ? convert<1> : convert<3>;
  body(in, num_pixels, table_.data(), source_channel_, out);
  return {out,
          DType::f32,
          {pixels.shape[0], channels, height, width},
          {height * width * channels, 1, width * channels, channels},
          DeviceKind::cpu};
}

}  // namespace tally::preprocess
