// SPDX-License-Identifier: Apache-2.0
// The kernel against its CPU twin: equal predictions.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/segmentation_pass.hpp>

#include "gpu.hpp"

namespace tally::metrics {
namespace {

// Coarse scores, so that ties are common; one in `rare` is no number.
std::vector<float> random_scores(std::int64_t count, unsigned rare) {
  std::mt19937 random(static_cast<unsigned>(count));
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special{std::numeric_limits<float>::quiet_NaN(), infinity, -infinity};
  std::vector<float> scores;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto step = static_cast<float>(static_cast<int>(random() % 9) - 4);
    scores.push_back(random() % rare == 0 ? special[random() % special.size()] : 0.5f * step);
  }
  return scores;
}

class PixelPassOnGpu : public OnGpu {
 protected:
  void expect_same(const Shape& shape, unsigned rare = 50) {
    const auto [images, classes, height, width] =
        std::array{shape[0], shape[1], shape[2], shape[3]};
    const auto scores = random_scores(num_elements(shape), rare);
    const auto pixels = to_size(height * width);
    std::vector<std::int32_t> expected(to_size(images) * pixels);
    for (std::size_t i = 0; i < to_size(images); ++i) {
      const auto planes = to_size(classes) * pixels;
      predict_pixels(std::span(scores).subspan(i * planes, planes), classes,
                     std::span(expected).subspan(i * pixels, pixels));
    }
    const device::Stream stream(gpu_);
    const auto given = on_device(scores, stream);
    const auto view =
        pass_.enqueue(contiguous_view(given.data(), DType::f32, shape, DeviceKind::cuda), stream);
    EXPECT_EQ(view.shape, (Shape{images, height, width}));
    const device::HostBuffer found(std::ssize(expected) * 4, gpu_);
    stream.copy_to_host(found.data(), {view.as<const std::byte>(), found.bytes().size()});
    stream.synchronize();
    EXPECT_TRUE(
        std::ranges::equal(expected, std::span(found.as<const std::int32_t>(), expected.size())));
  }

  PixelPass pass_;
};

TEST_F(PixelPassOnGpu, GivesTheCpusPredictions) {
  expect_same({3, 21, 40, 33});
  expect_same({2, 300, 17, 5}, 2'000);
}

TEST_F(PixelPassOnGpu, GivesTheCpusPredictionsAtEdges) {
  expect_same({1, 1, 1, 1}, 2);
  expect_same({1, 2, 1, 257}, 3);
  expect_same({5, 3, 1, 51});
  expect_same({1, 2, 1, 258});  // one pixel more than there was memory for
}

}  // namespace
}  // namespace tally::metrics
