// SPDX-License-Identifier: Apache-2.0
#include "schema/image_attributes.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <tally/base/format.hpp>

#include "dataset_error.hpp"

namespace tally::data {
namespace {

void check_values(const hdf5::Reader& file, const ColumnInfo& column, std::string_view name,
                  const std::vector<double>& values) {
  // The layout is HWC, so the last dimension is that of the channels.
  const std::int64_t channels = column.row_shape.back();
  if (std::cmp_not_equal(values.size(), channels)) {
    throw_dataset_error(file.path(), column.path,
                        format("attribute '{}' has {} values, expected {} (channels)", name,
                               values.size(), channels));
  }
  const auto bad = std::ranges::find_if_not(values, [](double v) { return std::isfinite(v); });
  if (bad != values.end()) {
    throw_dataset_error(file.path(), column.path,
                        format("attribute '{}' holds {}, expected finite numbers", name, *bad));
  }
}

// Pixels become (u8 * scale - mean) / std: a `std` of 0 would make infinities, and a `scale` of 0
// equal pixels.
void check_positive(const hdf5::Reader& file, const ColumnInfo& column, std::string_view name,
                    const std::vector<double>& values) {
  for (const double value : values) {
    if (value > 0.0 && std::isfinite(value)) continue;
    throw_dataset_error(
        file.path(), column.path,
        format("attribute '{}' holds {}, expected finite numbers above 0", name, value));
  }
}

std::int64_t channels_named(const hdf5::Reader& file, const ColumnInfo& column,
                            const std::string& channels) {
  if (channels == "RGB" || channels == "BGR") return 3;
  if (channels == "L") return 1;
  throw_dataset_error(
      file.path(), column.path,
      format("attribute 'channels' is '{}', expected 'RGB', 'BGR' or 'L'", shown(channels)));
}

void check_shape(const hdf5::Reader& file, const ColumnInfo& column, const std::string& channels) {
  if (column.dtype != DType::u8) {
    throw_dataset_error(file.path(), column.path,
                        format("is an image of {}, expected uint8", tally::name(column.dtype)));
  }
  const std::int64_t expected = channels_named(file, column, channels);
  if (column.row_shape.size() != 3 || column.row_shape.back() != expected) {
    throw_dataset_error(file.path(), column.path,
                        format("has rows of shape {}, expected [H, W, {}] ({})",
                               to_string(column.row_shape), expected, channels));
  }
}

// How pixels were made of image files is optional, and only compared with the model card's recipe.
std::optional<ImageSize> read_size(const hdf5::Reader& file, const ColumnInfo& column,
                                   std::string_view name) {
  if (!file.has_attribute(column.path, name)) return std::nullopt;
  const auto sides = file.int64s_attribute(column.path, name);
  const auto is_side = [](std::int64_t side) { return side > 0 && side <= kLargestImageSide; };
  if (sides.size() == 2 && std::ranges::all_of(sides, is_side))
    return ImageSize{sides[0], sides[1]};
  // The attribute may hold any number of values: the message shows four of them at most.
  throw_dataset_error(
      file.path(), column.path,
      format("attribute '{}' holds {}, expected height and width of an image", name,
             to_string(std::span(sides).first(std::min<std::size_t>(sides.size(), 4)))));
}

// Returns an empty word where the file does not have the attribute.
std::string read_word(const hdf5::Reader& file, const ColumnInfo& column, std::string_view name,
                      std::span<const std::string_view> words) {
  if (!file.has_attribute(column.path, name)) return {};
  auto word = file.string_attribute(column.path, name);
  if (std::ranges::find(words, word) != words.end()) return word;
  throw_dataset_error(file.path(), column.path,
                      format("attribute '{}' is '{}', expected one of {}", name, shown(word),
                             fmt::join(words, ", ")));
}

}  // namespace

bool is_image(const hdf5::Reader& file, const ColumnInfo& column) {
  // An image of this name that lacks its attributes is refused by read_image_attributes(). Taken
  // for another input, it would reach the model without normalisation.
  if (column.path == "/inputs/image" && column.dtype == DType::u8) return true;
  return file.has_attribute(column.path, "layout");
}

ImageAttributes read_image_attributes(const hdf5::Reader& file, const ColumnInfo& column) {
  ImageAttributes image;
  image.layout = file.string_attribute(column.path, "layout");
  if (image.layout != "HWC") {
    throw_dataset_error(file.path(), column.path,
                        format("attribute 'layout' is '{}', expected 'HWC'", shown(image.layout)));
  }
  // The channels come first: they decide the last dimension, with which mean and std are compared.
  image.channels = file.string_attribute(column.path, "channels");
  check_shape(file, column, image.channels);
  image.scale = file.double_attribute(column.path, "scale");
  check_positive(file, column, "scale", {image.scale});
  image.mean = file.doubles_attribute(column.path, "mean");
  check_values(file, column, "mean", image.mean);
  image.std = file.doubles_attribute(column.path, "std");
  check_values(file, column, "std", image.std);
  check_positive(file, column, "std", image.std);
  image.geometry.resize = read_size(file, column, "resize");
  image.geometry.crop = read_size(file, column, "crop");
  image.geometry.crop_mode = read_word(file, column, "crop_mode", kCropModes);
  image.geometry.interpolation = read_word(file, column, "interpolation", kInterpolations);
  if (file.has_attribute(column.path, "recipe_source")) {
    image.recipe_source = file.string_attribute(column.path, "recipe_source");
  }
  return image;
}

}  // namespace tally::data
