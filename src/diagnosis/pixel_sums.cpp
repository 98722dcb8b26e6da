// SPDX-License-Identifier: Apache-2.0
#include <tally/diagnosis/pixel_sums.hpp>

#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>

namespace tally::diagnosis {
namespace {

// Of a batch, and of an image: few enough to cost nothing beside a forward pass.
constexpr std::int64_t kImages = 8;
constexpr std::int64_t kPixels = 128;

bool are_images(const TensorView& view) {
  return view.dtype == DType::u8 && view.device == DeviceKind::cpu && view.shape.size() == 4 &&
         (view.shape[3] == 1 || view.shape[3] == 3) && view.shape[1] * view.shape[2] > 0;
}

// An odd step does not meet the same columns of an image again and again.
std::int64_t step_between(std::int64_t pixels) { return (pixels / kPixels) | 1; }

}  // namespace

void PixelSums::add(const TensorView& images, std::int64_t num_samples) {
  if (!are_images(images) || num_samples < 1) return;
  num_channels = images.shape[3];
  const std::int64_t pixels = images.shape[1] * images.shape[2], step = step_between(pixels);
  pixels_per_image = (pixels + step - 1) / step;
  const std::int64_t apart = (num_samples + kImages - 1) / kImages;
  for (std::int64_t image = 0; image < num_samples; image += apart) {
    const auto* const values = images.as<const std::uint8_t>() + image * pixels * num_channels;
    std::array<std::int64_t, 3> of_image{};
    for (std::int64_t pixel = 0; pixel < pixels; pixel += step) {
      for (std::int64_t c = 0; c < num_channels; ++c) {
        const std::int64_t value = values[pixel * num_channels + c];
        of_image[to_size(c)] += value;
        channels[to_size(c)].squares += value * value;
        smallest = std::min(smallest, value);
        largest = std::max(largest, value);
      }
    }
    for (std::size_t c = 0; c < channels.size(); ++c) {
      channels[c].sum += of_image[c];
      channels[c].image_squares += of_image[c] * of_image[c];
    }
    ++num_images;
  }
}

void PixelSums::merge(const PixelSums& other) {
  num_channels = std::max(num_channels, other.num_channels);
  num_images += other.num_images;
  pixels_per_image = std::max(pixels_per_image, other.pixels_per_image);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    channels[c].sum += other.channels[c].sum;
    channels[c].squares += other.channels[c].squares;
    channels[c].image_squares += other.channels[c].image_squares;
  }
  smallest = std::min(smallest, other.smallest);
  largest = std::max(largest, other.largest);
}

std::optional<ImageStatistics> PixelSums::statistics() const {
  if (num_images == 0) return std::nullopt;
  const auto images = static_cast<double>(num_images);
  const auto per_image = static_cast<double>(pixels_per_image);
  ImageStatistics found{
      .mean = {}, .deviation = {}, .standard_error = {}, .smallest = smallest, .largest = largest};
  for (std::size_t c = 0; c < to_size(num_channels); ++c) {
    const double mean = static_cast<double>(channels[c].sum) / (images * per_image);
    const auto deviation = [&](std::int64_t squares, double count) {
      return std::sqrt(std::max(0.0, static_cast<double>(squares) / count - mean * mean));
    };
    found.mean.push_back(mean);
    found.deviation.push_back(deviation(channels[c].squares, images * per_image));
    const double of_images = deviation(channels[c].image_squares, images * per_image * per_image);
    found.standard_error.push_back(of_images / std::sqrt(images));
  }
  return found;
}

}  // namespace tally::diagnosis
