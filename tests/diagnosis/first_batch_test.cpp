// SPDX-License-Identifier: Apache-2.0
#include <tally/diagnosis/first_batch.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tally::diagnosis {
namespace {

TensorView view(std::vector<float>& values, Shape shape) {
  return contiguous_view(values.data(), DType::f32, std::move(shape));
}

TEST(ScoreStatistics, KnowProbabilities) {
  std::vector<float> rows{0.25F, 0.75F, 0.9F, 0.1F, 7, 7};  // the last row is padding
  const auto found = score_statistics(view(rows, {3, 2}), 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->num_samples, 2);
  EXPECT_EQ(found->num_values, 2);
  EXPECT_TRUE(found->are_within_0_and_1);
  EXPECT_TRUE(found->add_up_to_1);
  EXPECT_FALSE(found->are_the_same);
}

TEST(ScoreStatistics, KnowLogits) {
  std::vector<float> rows{0.25F, 0.75F, -0.5F, 1.5F};
  const auto found = score_statistics(view(rows, {2, 2}), 2);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->are_within_0_and_1);
  EXPECT_TRUE(found->add_up_to_1);
}

TEST(ScoreStatistics, KnowConstants) {
  std::vector<float> rows{3, 3, 3};
  const auto found = score_statistics(view(rows, {3}), 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->num_values, 1);
  EXPECT_TRUE(found->are_the_same);
}

TEST(ScoreStatistics, PassOthersOver) {
  std::vector<float> rows{1, std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(score_statistics(view(rows, {1, 2}), 1)) << "not finite";
  rows[1] = 2;
  EXPECT_FALSE(score_statistics(view(rows, {1, 1, 2}), 1)) << "maps";
  EXPECT_FALSE(score_statistics(view(rows, {1, 2}), 2)) << "too few rows";
}

TEST(FloatImages, HaveARange) {
  std::vector<float> pixels{0, 3, 16, 2, 99, 99, 99, 99};
  const auto found = float_images(view(pixels, {2, 1, 2, 2}), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->smallest, 0);
  EXPECT_EQ(found->largest, 16);
  EXPECT_TRUE(found->are_whole);
  pixels[1] = 0.5F;
  EXPECT_FALSE(float_images(view(pixels, {2, 1, 2, 2}), 1)->are_whole);
  pixels[1] = std::nanf("");
  EXPECT_FALSE(float_images(view(pixels, {2, 1, 2, 2}), 1));
  EXPECT_FALSE(float_images(view(pixels, {1, 2, 2, 2}), 1)) << "two channels are no image";
}

TEST(RowsAreTheSame, LooksAtSamplesAlone) {
  std::vector<float> rows{1, 2, 1, 2, 3, 4};
  EXPECT_TRUE(rows_are_the_same(view(rows, {3, 2}), 2));
  EXPECT_FALSE(rows_are_the_same(view(rows, {3, 2}), 3));
}

}  // namespace
}  // namespace tally::diagnosis
