// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <tally/base/error.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>

namespace tally::device {
namespace {

const Device kCpu{DeviceKind::cpu, 0, "a CPU"};

TEST(StreamOnTheCpu, HasDoneEachCallWhenItReturns) {
  const Stream stream(kCpu);
  const HostBuffer host(1000, kCpu);
  const DeviceBuffer device(1000, kCpu);
  std::iota(host.as<std::uint8_t>(), host.as<std::uint8_t>() + 1000, std::uint8_t{1});

  stream.copy_to_device(device.data(), host.bytes());
  EXPECT_TRUE(std::ranges::equal(device.bytes(), host.bytes()));

  const HostBuffer back(1000, kCpu);
  stream.copy_to_host(back.data(), device.bytes());
  EXPECT_TRUE(std::ranges::equal(back.bytes(), host.bytes()));

  stream.fill_zero(device.bytes().first(999));
  EXPECT_EQ(device.bytes()[998], std::byte{0});
  EXPECT_EQ(device.bytes()[999], host.bytes()[999]);
  EXPECT_TRUE(stream.is_done());
  EXPECT_EQ(stream.handle(), nullptr);
}

TEST(StreamOnTheCpu, TakesNoBytesAndTheSameBytes) {
  const Stream stream(kCpu);
  const HostBuffer host(64, kCpu);
  stream.copy_to_device(nullptr, {});
  stream.copy_to_device(host.data(), host.bytes());
  stream.copy_to_host(host.data(), host.bytes());
}

TEST(EventOnTheCpu, IsAlwaysDone) {
  const Stream stream(kCpu);
  const Event event(kCpu);
  EXPECT_TRUE(event.is_done());
  event.record(stream);
  stream.wait_for(event);
  event.wait();
  EXPECT_TRUE(event.is_done());
}

}  // namespace
}  // namespace tally::device
