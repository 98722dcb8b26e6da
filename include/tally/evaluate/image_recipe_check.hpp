// SPDX-License-Identifier: Apache-2.0
// Checks whether the data set's images were prepared as the model's weights require.
#pragma once

#include <optional>
#include <string>

#include <tally/base/image_recipe.hpp>
#include <tally/data/data_set.hpp>
#include <tally/model/card.hpp>

namespace tally::evaluate {

// `column` holds images. Means and deviations of RGB and BGR are compared channel by channel.
ImageRecipes compare_recipes(const data::ColumnInfo& column,
                             const std::optional<model::ModelCard>& card);

// All differences in one sentence; none where there are none.
std::optional<std::string> recipe_note(const ImageRecipes& recipes);

// Where the card says how images are resized and cropped, and the data set says nothing of it.
std::optional<std::string> missing_recipe_note(const ImageRecipes& recipes);

}  // namespace tally::evaluate
