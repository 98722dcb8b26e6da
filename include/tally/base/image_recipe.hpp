// SPDX-License-Identifier: Apache-2.0
// Describes how images are prepared for a model, as a model card or a data set says it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

struct ImageSize {
  std::int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

// From the image of a file to pixels of one size. What is not said is absent or empty.
struct ImageGeometry {
  std::optional<ImageSize> resize;   // before anything is cut off
  std::optional<ImageSize> crop;     // the middle, which the model is given
  std::optional<double> crop_share;  // about crop / resize, as timm's crop_pct
  // center: the shorter side is resized to `resize`, border: the longer one, both in proportion;
  // squash: both sides.
  std::string crop_mode;
  std::string interpolation;
  bool operator==(const ImageGeometry&) const = default;
};

inline constexpr std::array<std::string_view, 3> kCropModes{"center", "squash", "border"};
inline constexpr std::array<std::string_view, 7> kInterpolations{
    "nearest", "nearest-exact", "box", "bilinear", "hamming", "bicubic", "lanczos"};
inline constexpr std::int64_t kLargestImageSide = std::int64_t{1} << 20;

// "248x248"
std::string to_string(const ImageSize& size);
// What it says, on one line: "resize 248x248, crop 224x224, center, bicubic"; empty where nothing.
std::string to_string(const ImageGeometry& geometry);

// (u8 * scale - mean) / std for each channel.
struct ImageNumbers {
  std::string channels;  // "RGB", "BGR" or "L"
  double scale = 1.0;
  std::vector<double> mean, std;  // [C] in the order of `channels`
};

struct ImageRecipe {
  std::string source;  // whose weights ask for it; empty where that is not said
  std::optional<ImageNumbers> numbers;
  std::optional<ImageSize> size;  // of the pixels; absent where any will do
  ImageGeometry geometry;
};

// What a model's card says of its images beside what the data set says of those that it holds.
struct ImageRecipes {
  // Absent where the card says nothing of images, or there is no card.
  std::optional<ImageRecipe> model;
  ImageRecipe data;
  // What both say, differently: "channels", "scale", "mean", "std", "size", "resize", "crop_mode",
  // "interpolation".
  std::vector<std::string> differences;
};

}  // namespace tally
