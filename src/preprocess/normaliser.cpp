// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/thread_team.hpp>
#include <tally/preprocess/normaliser.hpp>

#include "float_to_16_bits.hpp"
#include "pixel_conversion.hpp"

namespace tally::preprocess {
namespace {

// Returns for each channel of `wanted` the place where `stored` has it.
std::vector<int> permutation(std::string_view stored, std::string_view wanted) {
  const auto known = [](std::string_view order) {
    return order == "RGB" || order == "BGR" || order == "L";
  };
  if (!known(stored) || !known(wanted) || stored.size() != wanted.size()) {
    throw Error(
        ErrorKind::model,
        format("the data set's images have channels '{}', the model takes '{}'", stored, wanted),
        "Prepare the data set with the model's channels.");
  }
  std::vector<int> source;
  for (const char channel : wanted) {
    source.push_back(checked_cast<int>(stored.find(channel)));
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

void store(float value, DType type, std::byte* word) {
  if (type == DType::f32) {
    std::memcpy(word, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = type == DType::bf16 ? bfloat16_bits(value) : float16_bits(value);
  std::memcpy(word, &bits, sizeof bits);
}

// The largest float16 is 65504. The largest bfloat16 is 3.39e38, so that values up to this bound
// stay finite in bfloat16 as well as in float32.
double largest(DType type) { return type == DType::f16 ? 65504.0 : 3.38e38; }

// Writes [channels, 256] words: what each byte becomes in each channel of the model, computed in
// double and rounded to float32, and from there to 16 bits where the type has these: as torch does,
// which converts a normalised float32 image. Throws Error(dataset) for a value that the type cannot
// hold; the comparison refuses NaN, too.
void fill_table(const Normalisation& wanted, DType type, std::byte* word) {
  for (std::size_t c = 0; c < wanted.mean.size(); ++c) {
    for (std::int64_t level = 0; level < kLevels; ++level) {
      const double value =
          (static_cast<double>(level) * wanted.scale - wanted.mean[c]) / wanted.std[c];
      if (!(std::abs(value) <= largest(type))) {
        throw Error(
            ErrorKind::dataset,
            format("the normalisation (scale {}, mean {}, std {}) of channel '{}' makes {} "
                   "of the byte {}, expected a finite number",
                   wanted.scale, wanted.mean[c], wanted.std[c], wanted.channels[c], value, level));
      }
      store(static_cast<float>(value), type, word);
      word += size_bytes(type);
    }
  }
}

void require_output_type(DType type) {
  if (type == DType::f32 || type == DType::bf16 || type == DType::f16) return;
  throw Error(ErrorKind::internal, format("images cannot become {}", name(type)));
}

}  // namespace

Normaliser::Normaliser(Shape stored, const std::string& stored_channels,
                       const Normalisation& wanted, DType output, const device::Device& device,
                       int threads)
    : stored_(std::move(stored)),
      source_channel_(permutation(stored_channels, wanted.channels)),
      output_type_(output) {
  require_sizes(stored_, source_channel_.size(), wanted);
  require_output_type(output);
  const std::int64_t table_bytes = stored_[3] * kLevels * size_bytes(output);
  table_ = device::HostBuffer(table_bytes, device);
  fill_table(wanted, output, table_.data());
  if (device.kind == DeviceKind::cuda) {
    table_on_device_ = device::DeviceBuffer(table_bytes, device);
    const device::Stream stream(device);
    stream.copy_to_device(table_on_device_.data(), table_.bytes());
    // The table is copied once, before the loop: waiting here is no loss.
    stream.synchronize();
  } else {
    team_ = std::make_unique<ThreadTeam>(threads);
  }
  output_ = device::DeviceBuffer(num_elements(stored_) * size_bytes(output), device);
}

Normaliser::~Normaliser() = default;

TensorView Normaliser::run(const TensorView& pixels, const device::Stream& stream) {
  const DeviceKind device = stream.device().kind;
  const bool same_rows = pixels.shape.size() == 4 &&
                         std::equal(stored_.begin() + 1, stored_.end(), pixels.shape.begin() + 1);
  if (pixels.dtype != DType::u8 || !same_rows || pixels.shape[0] > stored_[0] ||
      pixels.strides != contiguous_strides(pixels.shape) || pixels.device != device) {
    throw Error(ErrorKind::internal,
                format("the normaliser for contiguous uint8 {} was given {} {}", to_string(stored_),
                       name(pixels.dtype), to_string(pixels.shape)));
  }
  const std::int64_t height = stored_[1], width = stored_[2], channels = stored_[3];
  const bool on_cpu = device == DeviceKind::cpu;
  Conversion conversion{.pixels = pixels.as<const std::uint8_t>(),
                        .num_pixels = pixels.shape[0] * height * width,
                        .channels = checked_cast<int>(channels),
                        .word_bytes = checked_cast<int>(size_bytes(output_type_)),
                        .table = on_cpu ? table_.data() : table_on_device_.data(),
                        .out = output_.data()};
  std::ranges::copy(source_channel_, conversion.source.begin());
  on_cpu ? convert_on_cpu(conversion, *team_) : launch_convert(conversion, stream.handle());
  // The memory is [batch, height, width, channels]; the strides show it as [batch, channels,
  // height, width], which is channels-last.
  return {output_.data(),
          output_type_,
          {pixels.shape[0], channels, height, width},
          {height * width * channels, 1, width * channels, channels},
          device};
}

}  // namespace tally::preprocess
