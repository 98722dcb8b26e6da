// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <tally/digest/sha256_and_checksums.hpp>

namespace tally::digest {
namespace {

// One bit at a time, from the polynomial 0x04C11DB7, reflected.
std::uint32_t slow_crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

TEST(Crc32, HasTheCheckValueOfTheStandard) {
  EXPECT_EQ(crc32(0, std::as_bytes(std::span(std::string_view("123456789")))), 0xcbf43926);
  EXPECT_EQ(crc32(0, {}), 0U);
}

TEST(Crc32, EqualsTheBitwiseDefinitionInOnePieceAndInTwo) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(700);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::size_t length = 0; length < 600; ++length) {
    const auto piece = std::span<const std::byte>(bytes).subspan(length % 67, length);
    const auto expected = slow_crc32(piece);
    ASSERT_EQ(crc32(0, piece), expected) << length;
    const auto first = piece.first(length / 3);
    ASSERT_EQ(crc32(crc32(0, first), piece.subspan(length / 3)), expected) << length;
  }
}

}  // namespace
}  // namespace tally::digest
