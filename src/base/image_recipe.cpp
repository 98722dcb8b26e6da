// SPDX-License-Identifier: Apache-2.0
#include <tally/base/image_recipe.hpp>

#include <tally/base/format.hpp>

namespace tally {

std::string to_string(const ImageSize& size) { return format("{}x{}", size.height, size.width); }

std::string to_string(const ImageGeometry& geometry) {
  std::vector<std::string> parts;
  if (geometry.resize) parts.push_back(format("resize {}", to_string(*geometry.resize)));
  if (geometry.crop) parts.push_back(format("crop {}", to_string(*geometry.crop)));
  if (geometry.crop_share) parts.push_back(format("crop share {:.4g}", *geometry.crop_share));
  if (!geometry.crop_mode.empty()) parts.push_back(geometry.crop_mode);
  if (!geometry.interpolation.empty()) parts.push_back(geometry.interpolation);
  return format("{}", fmt::join(parts, ", "));
}

}  // namespace tally
