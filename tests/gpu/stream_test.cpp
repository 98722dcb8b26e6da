// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>

#include "gpu.hpp"

namespace tally::device {
namespace {

class StreamOnGpu : public OnGpu {};

TEST_F(StreamOnGpu, CopiesBothWaysInOrder) {
  const Stream stream(gpu_);
  const HostBuffer host(1 << 20, gpu_);
  const HostBuffer back(1 << 20, gpu_);
  const DeviceBuffer memory(1 << 20, gpu_);
  std::iota(host.as<std::uint32_t>(), host.as<std::uint32_t>() + (1 << 18), 7u);

  stream.copy_to_host(back.data(), memory.bytes());
  stream.synchronize();
  EXPECT_TRUE(std::ranges::all_of(back.bytes(), [](std::byte b) { return b == std::byte{0}; }));

  stream.copy_to_device(memory.data(), host.bytes());
  stream.fill_zero(memory.bytes().first(16));
  stream.copy_to_host(back.data(), memory.bytes());
  stream.synchronize();
  EXPECT_TRUE(std::ranges::equal(back.bytes().subspan(16), host.bytes().subspan(16)));
  EXPECT_EQ(back.as<std::uint32_t>()[3], 0u);
  EXPECT_TRUE(stream.is_done());
}

TEST_F(StreamOnGpu, WaitsForAnEventOfAnother) {
  const Stream copies(gpu_);
  const Stream compute(gpu_);
  const Event copied(gpu_);
  const HostBuffer host(64 << 20, gpu_);
  const HostBuffer back(64 << 20, gpu_);
  const DeviceBuffer memory(64 << 20, gpu_);
  std::ranges::fill(host.bytes(), std::byte{0x5a});

  copies.copy_to_device(memory.data(), host.bytes());
  copied.record(copies);
  compute.wait_for(copied);
  compute.copy_to_host(back.data(), memory.bytes());
  const Event done(gpu_);
  done.record(compute);
  done.wait();
  EXPECT_TRUE(done.is_done());
  EXPECT_TRUE(std::ranges::equal(back.bytes(), host.bytes()));
}

TEST_F(StreamOnGpu, TimesStandOnTheHostsClock) {
  const Stream stream(gpu_);
  const DeviceBuffer memory(256 << 20, gpu_);
  const Event before(gpu_, Timing::on);
  const Event after(gpu_, Timing::on);
  const auto began_ns = now_ns();
  const Timeline timeline(stream);
  before.record(stream);
  stream.fill_zero(memory.bytes());
  after.record(stream);
  stream.synchronize();
  const auto ended_ns = now_ns();
  constexpr std::int64_t kToleranceNs = 100'000;
  EXPECT_GT(timeline.when_ns(before), began_ns - kToleranceNs);
  EXPECT_GT(timeline.when_ns(after), timeline.when_ns(before));
  EXPECT_LT(timeline.when_ns(after), ended_ns + kToleranceNs);
}

TEST_F(StreamOnGpu, MoreMemoryThanThereIsIsOneClearError) {
  try {
    const DeviceBuffer memory(std::int64_t{1} << 50, gpu_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
  }
  const DeviceBuffer small(1024, gpu_);  // the device is still usable
}

}  // namespace
}  // namespace tally::device
