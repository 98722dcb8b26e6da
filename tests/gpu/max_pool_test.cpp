// SPDX-License-Identifier: Apache-2.0
// The kernel against its CPU twin: equal bits.
#include "kernels/max_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>

#include "gpu.hpp"

namespace tally::graph_optimizer {
namespace {

// Numbers of both signs, each ninth of them NaN, infinity or zero.
template <class Bits>
std::vector<Bits> random_numbers(std::int64_t count, std::int32_t infinity) {
  std::mt19937 random(static_cast<unsigned>(count));
  const Bits sign = std::numeric_limits<Bits>::min();
  const auto inf = static_cast<Bits>(infinity);
  const std::vector<Bits> special{
      inf, static_cast<Bits>(inf | sign), static_cast<Bits>(inf | 1), Bits{0}, sign, Bits{1}};
  std::vector<Bits> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<Bits>(random() % static_cast<unsigned>(infinity));
    const auto number = random() % 2 == 0 ? magnitude : static_cast<Bits>(magnitude | sign);
    numbers.push_back(random() % 9 == 0 ? special[random() % special.size()] : number);
  }
  return numbers;
}

template <class Bits>
std::vector<Bits> pool_on_cpu(const std::vector<Bits>& images, std::int64_t num_images,
                              const PooledImage& shape, std::int32_t infinity) {
  const auto row_size = shape.pooled_width() * shape.channels;
  const auto rows = shape.pooled_height();
  std::vector<Bits> pooled(to_size(num_images * rows * row_size));
  for (std::int64_t i = 0; i < num_images * rows; ++i) {
    pool_row(images.data() + i / rows * shape.height * shape.width * shape.channels, shape,
             static_cast<Bits>(infinity), i % rows, pooled.data() + i * row_size);
  }
  return pooled;
}

class MaxPoolOnGpu : public OnGpu {
 protected:
  template <class Bits>
  void expect_same(std::int64_t num_images, const PooledImage& shape, std::int32_t infinity) {
    const auto count = num_images * shape.height * shape.width * shape.channels;
    const auto images = random_numbers<Bits>(count, infinity);
    const auto expected = pool_on_cpu(images, num_images, shape, infinity);
    const device::Stream stream(gpu_);
    const auto given = on_device(images, stream);
    const auto bytes = std::ssize(expected) * static_cast<std::int64_t>(sizeof(Bits));
    const device::DeviceBuffer pooled(bytes, gpu_);
    const device::HostBuffer found(bytes, gpu_);
    launch_max_pool({.images = given.data(),
                     .pooled = pooled.data(),
                     .num_images = num_images,
                     .shape = shape,
                     .word_bytes = sizeof(Bits),
                     .infinity = infinity},
                    stream.handle());
    stream.copy_to_host(found.data(), pooled.bytes());
    stream.synchronize();
    EXPECT_TRUE(std::ranges::equal(expected, std::span(found.as<Bits>(), expected.size())));
  }

  void expect_same_of_all_types(std::int64_t num_images, const PooledImage& shape) {
    expect_same<std::int16_t>(num_images, shape, 0x7f80);  // bfloat16
    expect_same<std::int16_t>(num_images, shape, 0x7c00);  // half
    expect_same<std::int32_t>(num_images, shape, 0x7f800000);
  }
};

TEST_F(MaxPoolOnGpu, GivesTheCpusBits) {
  const Window three{3, 2, 1};
  expect_same_of_all_types(5, {56, 56, 64, three, three});
  expect_same_of_all_types(3, {13, 17, 24, {2, 2, 0}, {3, 1, 1}});
  expect_same_of_all_types(3, {13, 14, 8, {3, 2, 0}, {3, 2, 0}, /*rounds_up=*/true});
}

TEST_F(MaxPoolOnGpu, GivesTheCpusBitsAtEdges) {
  const Window one{1, 1, 0};
  expect_same_of_all_types(1, {1, 1, 8, one, one});
  expect_same_of_all_types(1, {2, 1, 8, {2, 1, 1}, {1, 3, 0}});
  expect_same_of_all_types(33, {3, 3, 8, {3, 2, 1}, {3, 2, 1}});
  expect_same_of_all_types(2, {5, 4, 40, {5, 5, 0}, {4, 3, 2}});
}

}  // namespace
}  // namespace tally::graph_optimizer
