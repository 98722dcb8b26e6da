// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/device/buffer.hpp>

namespace tally::device {
namespace {

const Device kCpu{DeviceKind::cpu, 0, "a CPU"};

bool all_zero(const HostBuffer& buffer) {
  return std::ranges::all_of(buffer.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(HostBuffer, IsAlignedZeroedAndWritableAtEverySize) {
  for (const std::int64_t size : {1, 63, 64, 65, 4096, (2 << 20) - 1, 2 << 20, (5 << 20) + 7}) {
    HostBuffer buffer(size, kCpu);
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_EQ(buffer.num_bytes(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u) << size;
    EXPECT_TRUE(all_zero(buffer)) << size;
    std::ranges::fill(buffer.bytes(), std::byte{0xa5});  // AddressSanitizer sees a buffer too short
  }
}

TEST(HostBuffer, IsZeroedAlsoWhereMemoryIsUsedAgain) {
  for (int i = 0; i < 8; ++i) {
    HostBuffer buffer(100'000, kCpu);
    EXPECT_TRUE(all_zero(buffer));
    std::ranges::fill(buffer.bytes(), std::byte{0xff});
  }
}

TEST(HostBuffer, MovesItsMemory) {
  HostBuffer first(256, kCpu);
  std::byte* const memory = first.data();
  HostBuffer second(std::move(first));
  EXPECT_EQ(second.data(), memory);
  // NOLINTNEXTLINE(bugprone-use-after-move): the state after a move is what is tested
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(first.num_bytes(), 0);

  HostBuffer third(64, kCpu);
  third = std::move(second);
  EXPECT_EQ(third.data(), memory);
  EXPECT_EQ(third.num_bytes(), 256);
  third = HostBuffer{};
  EXPECT_EQ(third.data(), nullptr);
}

TEST(HostBuffer, OfNoBytesIsEmpty) {
  const HostBuffer buffer(0, kCpu);
  EXPECT_TRUE(buffer.bytes().empty());
}

TEST(HostBuffer, RefusesSizesThatCannotBe) {
  EXPECT_THROW(HostBuffer(-1, kCpu), Error);
  try {
    const HostBuffer buffer(std::int64_t{1} << 60, kCpu);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
  }
}

}  // namespace
}  // namespace tally::device
