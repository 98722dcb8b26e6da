// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/image_recipe_check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::evaluate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// 224 x 224 pixels, resized to 256 before.
data::ColumnInfo column() {
  data::ColumnInfo column;
  column.row_shape = {224, 224, 3};
  column.image = data::ImageAttributes{"HWC", "RGB", 0.5, {1, 2, 3}, {4, 5, 6}};
  column.image->geometry = {ImageSize{256, 256}, ImageSize{224, 224}, std::nullopt, "center",
                            "bilinear"};
  return column;
}

// Says the same of its images.
model::ModelCard card() {
  model::ModelCard card;
  card.normalisation = model::CardNormalisation{0.5, {1, 2, 3}, {4, 5, 6}, "RGB"};
  card.recipe = model::CardRecipe{"timm:a.b", column().image->geometry};
  card.recipe->geometry.crop_share = 0.875;
  return card;
}

std::string note(const data::ColumnInfo& column, const model::ModelCard& card) {
  return recipe_note(compare_recipes(column, card)).value_or("none");
}

TEST(Recipe, TheSameOnBothSidesNeedsNoNote) {
  const auto recipes = compare_recipes(column(), card());
  EXPECT_THAT(recipes.differences, IsEmpty());
  EXPECT_EQ(recipes.model->source, "timm:a.b");
  EXPECT_EQ(recipes.data.size, (ImageSize{224, 224}));
  EXPECT_EQ(recipe_note(recipes), std::nullopt);
}

TEST(Recipe, ADataSetThatSaysNothingIsNamed) {
  const auto missing = [](const data::ColumnInfo& column, const model::ModelCard& card) {
    return missing_recipe_note(compare_recipes(column, card)).value_or("none");
  };
  auto silent = column();
  silent.image->geometry = {};
  EXPECT_THAT(missing(silent, card()),
              AllOf(HasSubstr("does not say how its images were prepared"),
                    HasSubstr("(timm:a.b) want resize 256x256, crop 224x224")));
  EXPECT_EQ(missing(column(), card()), "none");
  EXPECT_EQ(missing(silent, model::ModelCard{}), "none");
}

TEST(Recipe, TheDataSetNamesWhoseItIs) {
  auto named = column();
  named.image->recipe_source = "timm:a.b";
  EXPECT_EQ(compare_recipes(named, card()).data.source, "timm:a.b");
}

TEST(Recipe, WhatOneSideDoesNotSayIsNoDifference) {
  EXPECT_EQ(recipe_note(compare_recipes(column(), std::nullopt)), std::nullopt);
  EXPECT_EQ(note(column(), model::ModelCard{}), "none");
  auto silent = column();
  silent.image->geometry = {};
  EXPECT_EQ(note(silent, card()), "none");
  auto part = card();
  part.recipe->geometry = {};
  EXPECT_EQ(note(column(), part), "none");
  part.recipe.reset();
  EXPECT_EQ(note(column(), part), "none");
}

TEST(Recipe, EachDifferenceIsNamedInOneNote) {
  auto other = card();
  other.normalisation = model::CardNormalisation{1.0, {1, 2, 4}, {4, 5, 7}, "RGB"};
  other.recipe->geometry = {ImageSize{248, 248}, ImageSize{240, 240}, std::nullopt, "squash",
                            "bicubic"};
  const auto recipes = compare_recipes(column(), other);
  EXPECT_THAT(recipes.differences,
              ElementsAre("scale", "mean", "std", "size", "resize", "crop_mode", "interpolation"));
  EXPECT_EQ(recipe_note(recipes),
            "normalisation of the model card is used (RGB scale 1 mean [1, 2, 4] std [4, 5, 7]), "
            "not the data set's (RGB scale 0.5 mean [1, 2, 3] std [4, 5, 6]); the data set's "
            "images were not prepared as the model card says: size 224x224 instead of 240x240, "
            "resize 256x256 instead of 248x248, crop_mode center instead of squash, "
            "interpolation bilinear instead of bicubic");
}

TEST(Recipe, OneDifferenceIsNamedAlone) {
  auto other = card();
  other.recipe->geometry.interpolation = "bicubic";
  EXPECT_EQ(note(column(), other),
            "the data set's images were not prepared as the model card says: interpolation "
            "bilinear instead of bicubic");
  other = card();
  other.normalisation->mean = {0, 2, 3};
  EXPECT_THAT(note(column(), other), AllOf(HasSubstr("mean [0, 2, 3]"), Not(HasSubstr(";"))));
}

TEST(Recipe, AnotherOrderOfChannelsIsOneDifference) {
  auto reversed = column();
  reversed.image->channels = "BGR";
  reversed.image->mean = {3, 2, 1};
  reversed.image->std = {6, 5, 4};
  EXPECT_THAT(compare_recipes(reversed, card()).differences, ElementsAre("channels"));
  EXPECT_THAT(note(reversed, card()), HasSubstr("not the data set's (BGR "));
  reversed.image->mean = {1, 2, 3};
  EXPECT_THAT(compare_recipes(reversed, card()).differences, ElementsAre("channels", "mean"));
}

TEST(Recipe, WhatTheDataSetDoesNotSayIsNoDifference) {
  auto silent = column();
  silent.image->geometry = {};
  EXPECT_EQ(note(silent, card()), "none");
  silent.image->mean = {0, 0, 0};
  EXPECT_THAT(note(silent, card()), AllOf(HasSubstr("normalisation of the model card is used"),
                                          Not(HasSubstr("resized"))));
}

}  // namespace
}  // namespace tally::evaluate
