// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/image_recipe_check.hpp>

#include <algorithm>
#include <functional>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::evaluate {
namespace {

// The size is that of the images that the data set stores.
ImageRecipe recipe_of(const data::ColumnInfo& column) {
  const data::ImageAttributes& image = *column.image;
  return {.source = image.recipe_source,
          .numbers = ImageNumbers{image.channels, image.scale, image.mean, image.std},
          .size = ImageSize{column.row_shape.at(0), column.row_shape.at(1)},
          .geometry = image.geometry};
}

std::optional<ImageRecipe> recipe_of(const std::optional<model::ModelCard>& card) {
  if (!card || (!card->normalisation && !card->recipe)) return std::nullopt;
  ImageRecipe recipe;
  if (const auto& own = card->normalisation) {
    recipe.numbers = ImageNumbers{own->channels, own->scale, own->mean, own->std};
  }
  if (card->recipe) {
    recipe.source = card->recipe->source;
    recipe.geometry = card->recipe->geometry;
    // What remains after cropping is what the network sees.
    recipe.size = recipe.geometry.crop;
  }
  return recipe;
}

// Puts means and deviations of RGB and BGR into the model's order, so that they are compared
// channel by channel. The name of the order stays as it is stored, and is compared by itself.
ImageNumbers in_order(ImageNumbers numbers, const std::string& channels) {
  const bool is_reversed = (numbers.channels == "RGB" && channels == "BGR") ||
                           (numbers.channels == "BGR" && channels == "RGB");
  if (is_reversed) {
    std::ranges::reverse(numbers.mean);
    std::ranges::reverse(numbers.std);
  }
  return numbers;
}

// Calls found(name, the model's, the data set's) for each thing of the pixels that both say
// differently, with values as text. Where one side says nothing, nothing is compared
// (docs/decisions/032).
void compare_pixels(
    const ImageRecipe& model, const ImageRecipe& data,
    const std::function<void(const char*, const std::string&, const std::string&)>& found) {
  const auto sizes = [&](const char* name, const std::optional<ImageSize>& wanted,
                         const std::optional<ImageSize>& given) {
    if (wanted && given && *wanted != *given) found(name, to_string(*wanted), to_string(*given));
  };
  const auto words = [&](const char* name, const std::string& wanted, const std::string& given) {
    if (!wanted.empty() && !given.empty() && wanted != given) found(name, wanted, given);
  };
  sizes("size", model.size, data.size);
  sizes("resize", model.geometry.resize, data.geometry.resize);
  words("crop_mode", model.geometry.crop_mode, data.geometry.crop_mode);
  words("interpolation", model.geometry.interpolation, data.geometry.interpolation);
}

std::string text_of(const ImageNumbers& numbers) {
  return format("{} scale {} mean {} std {}", numbers.channels, numbers.scale, numbers.mean,
                numbers.std);
}

bool numbers_differ(const ImageRecipes& recipes) {
  return std::ranges::any_of(recipes.differences, [](const std::string& name) {
    return name == "channels" || name == "scale" || name == "mean" || name == "std";
  });
}

}  // namespace

ImageRecipes compare_recipes(const data::ColumnInfo& column,
                             const std::optional<model::ModelCard>& card) {
  ImageRecipes recipes{.model = recipe_of(card), .data = recipe_of(column), .differences = {}};
  if (!recipes.model) return recipes;
  const auto add = [&](const char* name, bool differs) {
    if (differs) recipes.differences.emplace_back(name);
  };
  if (recipes.model->numbers) {
    const ImageNumbers& wanted = *recipes.model->numbers;
    const ImageNumbers given = in_order(*recipes.data.numbers, wanted.channels);
    add("channels", wanted.channels != given.channels);
    add("scale", wanted.scale != given.scale);
    add("mean", wanted.mean != given.mean);
    add("std", wanted.std != given.std);
  }
  compare_pixels(*recipes.model, recipes.data,
                 [&](const char* name, const auto&, const auto&) { add(name, true); });
  return recipes;
}

std::optional<std::string> missing_recipe_note(const ImageRecipes& recipes) {
  if (!recipes.model) return std::nullopt;
  const auto wanted = to_string(recipes.model->geometry);
  if (wanted.empty() || !to_string(recipes.data.geometry).empty()) return std::nullopt;
  return format(
      "the data set does not say how its images were prepared; the model's weights ({}) want {}",
      printable(recipes.model->source), wanted);
}

std::optional<std::string> recipe_note(const ImageRecipes& recipes) {
  if (recipes.differences.empty()) return std::nullopt;
  const ImageRecipe& model = *recipes.model;
  std::vector<std::string> parts;
  if (numbers_differ(recipes)) {
    parts.push_back(format("normalisation of the model card is used ({}), not the data set's ({})",
                           text_of(*model.numbers), text_of(*recipes.data.numbers)));
  }
  std::vector<std::string> pixels;
  compare_pixels(model, recipes.data, [&](const char* name, const auto& wanted, const auto& given) {
    pixels.push_back(format("{} {} instead of {}", name, given, wanted));
  });
  if (!pixels.empty()) {
    parts.push_back(format("the data set's images were not prepared as the model card says: {}",
                           fmt::join(pixels, ", ")));
  }
  return format("{}", fmt::join(parts, "; "));
}

}  // namespace tally::evaluate
