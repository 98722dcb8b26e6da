// SPDX-License-Identifier: Apache-2.0
#include <tally/diagnosis/pixel_sums.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include <tally/base/checked_cast.hpp>

namespace tally::diagnosis {
namespace {

TensorView images(std::vector<std::uint8_t>& pixels, Shape shape) {
  return contiguous_view(pixels.data(), DType::u8, std::move(shape));
}

TEST(PixelSums, GiveTheStatisticsOfSmallImages) {
  // Two images of two pixels of three channels; a third one is padding.
  std::vector<std::uint8_t> pixels{10, 20, 30, 30, 20, 10, 50, 20, 0,
                                   50, 20, 0,  99, 99, 99, 99, 99, 99};
  PixelSums sums;
  sums.add(images(pixels, {3, 1, 2, 3}), 2);
  const auto found = sums.statistics();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->mean, (std::vector<double>{35, 20, 10}));
  EXPECT_DOUBLE_EQ(found->deviation[0], std::sqrt((625.0 + 25 + 225 + 225) / 4));
  EXPECT_DOUBLE_EQ(found->deviation[1], 0);
  EXPECT_DOUBLE_EQ(found->standard_error[0], 15 / std::sqrt(2.0)) << "means of 20 and 50";
  EXPECT_EQ(found->smallest, 0);
  EXPECT_EQ(found->largest, 50);
}

TEST(PixelSums, LookAtSomeOfLargeBatches) {
  constexpr std::int64_t kSide = 128, kImages = 20;
  std::vector<std::uint8_t> pixels(to_size(kImages * kSide * kSide));
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
  PixelSums sums;
  sums.add(images(pixels, {kImages, kSide, kSide, 1}), kImages);
  EXPECT_LE(sums.num_images, 8);
  EXPECT_LE(sums.pixels_per_image, 128);
  EXPECT_NEAR(sums.statistics()->mean[0], 127.5, 1);
}

TEST(PixelSums, PassOthersOver) {
  std::vector<std::uint8_t> bytes(16);
  PixelSums sums;
  sums.add(images(bytes, {4, 4}), 4);
  sums.add(images(bytes, {1, 2, 4, 2}), 1);
  EXPECT_EQ(sums, PixelSums{});
  EXPECT_FALSE(sums.statistics());
}

}  // namespace
}  // namespace tally::diagnosis
