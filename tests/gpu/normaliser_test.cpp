// SPDX-License-Identifier: Apache-2.0
// The kernel against its CPU twin: equal bits.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <tally/preprocess/normaliser.hpp>

#include "gpu.hpp"

namespace tally::preprocess {
namespace {

class NormaliserOnGpu : public OnGpu {
 protected:
  static std::vector<std::uint8_t> random_pixels(const Shape& shape) {
    std::mt19937 random(3);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(num_elements(shape)));
    for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random());
    return pixels;
  }

  std::vector<std::byte> on_cpu(const Shape& shape, std::vector<std::uint8_t> pixels, DType type,
                                const Normalisation& wanted, const std::string& stored) const {
    Normaliser normaliser(shape, stored, wanted, type, cpu_);
    const auto view =
        normaliser.run(contiguous_view(pixels.data(), DType::u8, shape), device::Stream(cpu_));
    const auto* const bytes = view.as<const std::byte>();
    return {bytes, bytes + num_elements(shape) * size_bytes(type)};
  }

  std::vector<std::byte> on_gpu(const Shape& shape, const std::vector<std::uint8_t>& pixels,
                                DType type, const Normalisation& wanted,
                                const std::string& stored) const {
    const device::Stream stream(gpu_);
    Normaliser normaliser(shape, stored, wanted, type, gpu_);
    const device::HostBuffer host(std::ssize(pixels), gpu_);
    const device::DeviceBuffer memory(std::ssize(pixels), gpu_);
    std::memcpy(host.data(), pixels.data(), pixels.size());
    stream.copy_to_device(memory.data(), host.bytes());
    const auto view =
        normaliser.run(contiguous_view(memory.data(), DType::u8, shape, gpu_.kind), stream);
    EXPECT_EQ(view.device, gpu_.kind);
    const device::HostBuffer back(num_elements(shape) * size_bytes(type), gpu_);
    stream.copy_to_host(back.data(), {view.as<const std::byte>(), back.bytes().size()});
    stream.synchronize();
    return {back.bytes().begin(), back.bytes().end()};
  }
};

TEST_F(NormaliserOnGpu, GivesTheCpusBits) {
  const Normalisation rgb{1.0 / 255, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, "RGB"};
  const Normalisation gray{1.0 / 255, {0.1307}, {0.3081}, "L"};
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    for (const Shape& shape : {Shape{5, 7, 9, 3}, Shape{1, 1, 1, 3}, Shape{64, 32, 32, 3},
                               Shape{3, 224, 224, 3}, Shape{2, 3, 1, 3}}) {
      const auto pixels = random_pixels(shape);
      for (const std::string stored : {"RGB", "BGR"}) {
        EXPECT_EQ(on_gpu(shape, pixels, type, rgb, stored),
                  on_cpu(shape, pixels, type, rgb, stored))
            << to_string(shape) << ' ' << name(type) << ' ' << stored;
      }
    }
    for (const Shape& shape : {Shape{7, 28, 28, 1}, Shape{1, 1, 1, 1}, Shape{3, 5, 7, 1}}) {
      const auto pixels = random_pixels(shape);
      EXPECT_EQ(on_gpu(shape, pixels, type, gray, "L"), on_cpu(shape, pixels, type, gray, "L"))
          << to_string(shape) << ' ' << name(type);
    }
  }
}

TEST_F(NormaliserOnGpu, GivesTheCpusBitsAtEdges) {
  const Normalisation rgb{1.0 / 255, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, "RGB"};
  const Normalisation gray{1.0 / 255, {0.1307}, {0.3081}, "L"};
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const Shape& shape : {Shape{1, 1, 1, 3}, Shape{1, 1, 3, 3}, Shape{1, 1, 4, 3},
                               Shape{2, 3, 11, 3}, Shape{1, 1, 5, 1}, Shape{1, 31, 33, 1}}) {
      const auto pixels = random_pixels(shape);
      const bool is_gray = shape.back() == 1;
      const auto& wanted = is_gray ? gray : rgb;
      const std::string stored = is_gray ? "L" : "BGR";
      EXPECT_EQ(on_gpu(shape, pixels, type, wanted, stored),
                on_cpu(shape, pixels, type, wanted, stored))
          << to_string(shape) << ' ' << name(type);
    }
  }
}

// The kernel goes over them in steps of its whole grid, 4,096 blocks of 256 threads.
TEST_F(NormaliserOnGpu, GivesTheCpusBitsOfMorePixelsThanAGridHasPlaces) {
  const Normalisation gray{1.0 / 255, {0.1307}, {0.3081}, "L"};
  const Shape shape{1, 2049, 2049, 1};
  const auto pixels = random_pixels(shape);
  EXPECT_EQ(on_gpu(shape, pixels, DType::bf16, gray, "L"),
            on_cpu(shape, pixels, DType::bf16, gray, "L"));
}

}  // namespace
}  // namespace tally::preprocess
