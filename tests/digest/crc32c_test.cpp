// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include <tally/digest/sha256_and_checksums.hpp>

namespace tally::digest {
namespace {

std::uint32_t crc_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

// One bit at a time, from the polynomial 0x1EDC6F41, reflected.
std::uint32_t slow_crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

TEST(Crc32c, HasTheCheckValuesOfTheStandards) {
  EXPECT_EQ(crc_of("123456789"), 0xe3069283);
  EXPECT_EQ(crc_of(""), 0U);
  // RFC 3720, B.4: 32 bytes of zeros, and of ones.
  EXPECT_EQ(crc32c(std::vector(32, std::byte{0x00})), 0x8a9136aa);
  EXPECT_EQ(crc32c(std::vector(32, std::byte{0xff})), 0x62a8ab43);
}

TEST(Crc32c, EqualsTheBitwiseDefinitionAtEveryLengthAndAlignment) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(700);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::size_t length = 0; length < 600; ++length) {
    const auto piece = std::span<const std::byte>(bytes).subspan(length % 67, length);
    ASSERT_EQ(crc32c(piece), slow_crc32c(piece)) << length;
  }
}

TEST(Crc32c, GoesOnBeyondTheLibrarysIntLength) {
  // 2^31 + 5 zero bytes; the value is google-crc32c's. Untouched pages cost no memory to speak of.
  const std::size_t length = (std::size_t{1} << 31) + 5;
  const std::unique_ptr<std::byte[], decltype(&std::free)> zeros(
      static_cast<std::byte*>(std::calloc(length, 1)), &std::free);
  ASSERT_NE(zeros, nullptr);
  EXPECT_EQ(crc32c({zeros.get(), length}), 0x572a7c8a);
}

}  // namespace
}  // namespace tally::digest
