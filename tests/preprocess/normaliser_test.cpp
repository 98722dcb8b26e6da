// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/preprocess/normaliser.hpp>

#include "float_to_16_bits.hpp"

namespace tally::preprocess {
namespace {

const device::Device kCpu{DeviceKind::cpu, 0, "a CPU"};
const device::Stream kStream(kCpu);
const Normalisation kImageNet{1.0 / 255, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, "RGB"};
const Normalisation kMnist{1.0 / 255, {0.1307}, {0.3081}, "L"};

Normalisation in_order(Normalisation from, const std::string& channels) {
  if (from.channels != channels) {
    std::ranges::reverse(from.mean);
    std::ranges::reverse(from.std);
    from.channels = channels;
  }
  return from;
}

std::vector<std::uint8_t> random_pixels(const Shape& shape) {
  std::mt19937 generator(7);
  std::uniform_int_distribution<int> byte(0, 255);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(num_elements(shape)));
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(byte(generator));
  return pixels;
}

// Visits every element of the output by its logical index.
void expect_normalised(const TensorView& output, const std::vector<std::uint8_t>& pixels,
                       const Shape& stored, const std::string& stored_channels,
                       const Normalisation& wanted) {
  const std::int64_t rows = stored[0], height = stored[1], width = stored[2], depth = stored[3];
  ASSERT_EQ(output.shape, (Shape{rows, depth, height, width}));
  ASSERT_EQ(output.dtype, DType::f32);
  for (std::int64_t n = 0; n < rows; ++n)
    for (std::int64_t c = 0; c < depth; ++c)
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
          const auto k = static_cast<std::size_t>(c);
          const auto from = static_cast<std::int64_t>(stored_channels.find(wanted.channels[k]));
          const auto pixel =
              pixels[static_cast<std::size_t>(((n * height + y) * width + x) * depth + from)];
          const double exact = (pixel * wanted.scale - wanted.mean[k]) / wanted.std[k];
          const float got = output.as<float>()[n * output.strides[0] + c * output.strides[1] +
                                               y * output.strides[2] + x * output.strides[3]];
          ASSERT_EQ(got, static_cast<float>(exact)) << n << ' ' << c << ' ' << y << ' ' << x;
        }
}

struct Case {
  Shape stored;
  std::string stored_channels;
  Normalisation wanted;
};

class EveryOrder : public testing::TestWithParam<Case> {};

TEST_P(EveryOrder, EqualsTheDoubleComputationRoundedOnce) {
  const auto& [stored, stored_channels, wanted] = GetParam();
  Normaliser normaliser(stored, stored_channels, wanted, DType::f32, kCpu);
  auto pixels = random_pixels(stored);
  const auto output = normaliser.run(contiguous_view(pixels.data(), DType::u8, stored), kStream);
  expect_normalised(output, pixels, stored, stored_channels, wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Normaliser, EveryOrder,
    testing::Values(Case{{4, 5, 7, 3}, "RGB", kImageNet}, Case{{4, 5, 7, 3}, "BGR", kImageNet},
                    Case{{4, 5, 7, 3}, "RGB", in_order(kImageNet, "BGR")},
                    Case{{4, 5, 7, 3}, "BGR", in_order(kImageNet, "BGR")},
                    Case{{1, 1, 1, 3}, "BGR", kImageNet}, Case{{3, 1, 17, 3}, "RGB", kImageNet},
                    Case{{2, 28, 28, 1}, "L", kMnist}, Case{{1, 1, 1, 1}, "L", kMnist},
                    Case{{5, 3, 3, 1}, "L", kMnist},
                    Case{{2, 9, 9, 3}, "BGR", {1.0, {104, 117, 123}, {1, 1, 1}, "BGR"}}));

// What torch computes in float32 from the same pixel differs by roundings only.
TEST(Normaliser, IsCloseToTheFloatFormula) {
  std::vector<std::uint8_t> pixels(768);  // each level in each channel
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i / 3);
  const Shape stored{1, 16, 16, 3};
  Normaliser normaliser(stored, "RGB", kImageNet, DType::f32, kCpu);
  const auto output = normaliser.run(contiguous_view(pixels.data(), DType::u8, stored), kStream);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t c = i % 3;
    const float by_float =
        (static_cast<float>(pixels[i]) / 255.0f - static_cast<float>(kImageNet.mean[c])) /
        static_cast<float>(kImageNet.std[c]);
    EXPECT_NEAR(output.as<float>()[i], by_float, 1e-6);
  }
}

TEST(Normaliser, GivesHalfPrecisionOnRequest) {
  const Shape stored{3, 5, 7, 3};
  auto pixels = random_pixels(stored);
  const auto input = contiguous_view(pixels.data(), DType::u8, stored);
  Normaliser exact(stored, "BGR", kImageNet, DType::f32, kCpu);
  const auto wanted = exact.run(input, kStream);
  for (const DType type : {DType::bf16, DType::f16}) {
    Normaliser normaliser(stored, "BGR", kImageNet, type, kCpu);
    const auto output = normaliser.run(input, kStream);
    ASSERT_EQ(output.dtype, type);
    EXPECT_EQ(output.shape, wanted.shape);
    EXPECT_EQ(output.strides, wanted.strides);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const float value = wanted.as<float>()[i];
      const auto bits = type == DType::bf16 ? bfloat16_bits(value) : float16_bits(value);
      ASSERT_EQ(output.as<std::uint16_t>()[i], bits) << i;
    }
  }
}

TEST(Normaliser, LiesChannelsLastAndAligned) {
  const Shape stored{2, 4, 6, 3};
  Normaliser normaliser(stored, "RGB", kImageNet, DType::f32, kCpu);
  auto pixels = random_pixels(stored);
  const auto output = normaliser.run(contiguous_view(pixels.data(), DType::u8, stored), kStream);
  EXPECT_EQ(output.strides, (std::vector<std::int64_t>{72, 1, 18, 3}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(output.data) % 64, 0u);
  EXPECT_EQ(output.device, DeviceKind::cpu);
}

TEST(Normaliser, TakesFewerRowsAndIsUsedAgain) {
  Normaliser normaliser({8, 3, 3, 3}, "BGR", kImageNet, DType::f32, kCpu);
  for (const std::int64_t rows : {8, 3, 1, 0}) {
    const Shape shape{rows, 3, 3, 3};
    auto pixels = random_pixels(shape);
    const auto output = normaliser.run(contiguous_view(pixels.data(), DType::u8, shape), kStream);
    expect_normalised(output, pixels, shape, "BGR", kImageNet);
  }
}

// Pixels that no number of threads divides evenly, and too few for all of them.
TEST(Normaliser, FindsTheSameOnAnyNumberOfThreads) {
  for (const auto& [stored, channels] :
       {std::pair{Shape{5, 131, 127, 3}, "BGR"}, {Shape{2, 113, 101, 1}, "L"}}) {
    const auto& wanted = stored[3] == 1 ? kMnist : kImageNet;
    auto pixels = random_pixels(stored);
    const auto view = contiguous_view(pixels.data(), DType::u8, stored);
    for (const DType type : {DType::f32, DType::bf16}) {
      const auto bytes = static_cast<std::size_t>(num_elements(stored) * size_bytes(type));
      Normaliser alone(stored, channels, wanted, type, kCpu);
      const auto expected = alone.run(view, kStream);
      for (const int threads : {2, 3, 16}) {
        Normaliser shared(stored, channels, wanted, type, kCpu, threads);
        for (int call = 0; call < 3; ++call) {
          const auto found = shared.run(view, kStream);
          ASSERT_EQ(std::memcmp(found.data, expected.data, bytes), 0) << channels << threads;
        }
      }
    }
  }
}

TEST(Normaliser, RefusesAnotherTensorThanItWasMadeFor) {
  Normaliser normaliser({2, 3, 3, 3}, "RGB", kImageNet, DType::f32, kCpu);
  std::vector<std::uint8_t> memory(1024);
  const auto refuses = [&](DType dtype, Shape shape) {
    const auto other = contiguous_view(memory.data(), dtype, std::move(shape));
    EXPECT_THROW(normaliser.run(other, kStream), Error);
  };
  refuses(DType::u8, {3, 3, 3, 3});
  refuses(DType::u8, {2, 3, 4, 3});
  refuses(DType::u8, {2, 27});
  refuses(DType::f32, {2, 3, 3, 3});
  auto strided = contiguous_view(memory.data(), DType::u8, {2, 3, 3, 3});
  strided.strides[0] *= 2;
  EXPECT_THROW(normaliser.run(strided, kStream), Error);
}

void expect_error(ErrorKind kind, const std::string& part, const Shape& stored,
                  const std::string& channels, const Normalisation& wanted) {
  try {
    const Normaliser normaliser(stored, channels, wanted, DType::f32, kCpu);
    FAIL() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(Normaliser, RefusesChannelsThatCannotBecomeTheModels) {
  expect_error(ErrorKind::model, "channels 'L', the model takes 'RGB'", {1, 2, 2, 1}, "L",
               kImageNet);
  expect_error(ErrorKind::model, "channels 'BGR', the model takes 'L'", {1, 2, 2, 3}, "BGR",
               kMnist);
  expect_error(ErrorKind::model, "'RGR'", {1, 2, 2, 3}, "RGR", kImageNet);
}

TEST(Normaliser, RefusesSizesThatDoNotFit) {
  auto wanted = kImageNet;
  wanted.mean.pop_back();
  expect_error(ErrorKind::dataset, "2 values in mean and 3 in std", {1, 2, 2, 3}, "RGB", wanted);
  expect_error(ErrorKind::dataset, "[1, 2, 2, 1]", {1, 2, 2, 1}, "RGB", kImageNet);
  expect_error(ErrorKind::dataset, "[2, 2, 3]", {2, 2, 3}, "RGB", kImageNet);
}

TEST(Normaliser, RefusesNumbersThatAreNotFinite) {
  auto wanted = kImageNet;
  wanted.std[1] = 0;
  expect_error(ErrorKind::dataset, "channel 'G'", {1, 2, 2, 3}, "RGB", wanted);
  wanted = kImageNet;
  wanted.mean[2] = std::numeric_limits<double>::quiet_NaN();
  expect_error(ErrorKind::dataset, "channel 'B'", {1, 2, 2, 3}, "RGB", wanted);
}

TEST(Normaliser, RefusesNumbersThatAreNoneOfTheOutputsType) {
  const Normalisation large{1000.0, {0, 0, 0}, {1, 1, 1}, "RGB"};
  EXPECT_NO_THROW(Normaliser({1, 2, 2, 3}, "RGB", large, DType::bf16, kCpu));
  EXPECT_THROW(Normaliser({1, 2, 2, 3}, "RGB", large, DType::f16, kCpu), Error);
  EXPECT_THROW(Normaliser({1, 2, 2, 3}, "RGB", large, DType::i32, kCpu), Error);
}

}  // namespace
}  // namespace tally::preprocess
