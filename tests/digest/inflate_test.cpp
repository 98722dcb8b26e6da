// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <tally/digest/inflate.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

namespace tally::digest {
namespace {

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// Of 120 bytes: zlib.compress(b"tally " * 20, level).hex() in Python.
constexpr std::size_t kTextBytes = 120;

std::string text(std::size_t count) {
  std::string twice;
  for (std::size_t i = 0; i < count; i += 6) twice += "tally ";
  return twice.substr(0, count);
}

std::vector<std::byte> stored_stream() {
  auto stream = bytes_of("780101780087ff");
  for (const char letter : text(kTextBytes)) stream.push_back(static_cast<std::byte>(letter));
  for (const std::byte byte : bytes_of("cd822d79")) stream.push_back(byte);
  return stream;
}

std::vector<std::vector<std::byte>> streams() {
  return {stored_stream(), bytes_of("78012b49ccc9a95428a13b0900cd822d79"),
          bytes_of("78da2b49ccc9a95428a13b0900cd822d79")};
}

TEST(Inflate, GivesWhatWasPacked) {
  for (const auto& stream : streams()) {
    std::string out(kTextBytes, '\0');
    EXPECT_TRUE(inflate_zlib(stream, std::as_writable_bytes(std::span(out))));
    EXPECT_EQ(out, text(kTextBytes));
    auto longer = stream;
    longer.push_back(std::byte{1});
    EXPECT_TRUE(inflate_zlib(longer, std::as_writable_bytes(std::span(out))));
  }
}

// Without the two bytes before the stream of RFC 1951 and the checksum behind it.
TEST(Inflate, BareStreams) {
  for (const auto& stream : streams()) {
    const auto bare = std::span(stream).subspan(2, stream.size() - 6);
    std::string out(kTextBytes, '\0');
    EXPECT_TRUE(inflate_raw(bare, std::as_writable_bytes(std::span(out))));
    EXPECT_EQ(out, text(kTextBytes));
    EXPECT_FALSE(inflate_raw(bare.first(bare.size() - 1), std::as_writable_bytes(std::span(out))));
    EXPECT_FALSE(inflate_raw(bare, std::as_writable_bytes(std::span(out)).first(kTextBytes - 1)));
  }
}

// It points back to before its begin, where there is nothing.
TEST(Inflate, ADistanceThatIsTooLargeIsRefused) {
  const auto stream = bytes_of("2b49ccc9a95428a13b0900");
  auto damaged = stream;
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * stream.size(); ++bit) {
    damaged[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    std::vector<std::byte> out(kTextBytes);
    std::vector<std::byte> again(kTextBytes, std::byte{'t'});
    const bool first = inflate_raw(damaged, out);
    EXPECT_EQ(first, inflate_raw(damaged, again));
    if (first) {
      EXPECT_EQ(out, again) << bit;
    }
    refused += first ? 0 : 1;
    damaged[bit / 8] = stream[bit / 8];
  }
  EXPECT_GT(refused, 20);
}

TEST(Inflate, RefusesOtherLengths) {
  for (const auto& stream : streams()) {
    for (const std::size_t length : {std::size_t{0}, kTextBytes - 1, kTextBytes + 1, 10000UL}) {
      std::vector<std::byte> out(length);
      EXPECT_FALSE(inflate_zlib(stream, out)) << length;
    }
  }
}

TEST(Inflate, RefusesStreamsThatEndEarly) {
  std::vector<std::byte> out(kTextBytes);
  for (const auto& stream : streams()) {
    for (std::size_t length = 0; length < stream.size(); ++length) {
      EXPECT_FALSE(inflate_zlib(std::span(stream).first(length), out)) << length;
    }
  }
}

TEST(Inflate, RefusesWhateverBitIsFlippedOrStillGivesTheText) {
  for (const auto& stream : streams()) {
    int refused = 0;
    for (std::size_t bit = 0; bit < 8 * stream.size(); ++bit) {
      auto other = stream;
      other[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      std::string out(kTextBytes, '\0');
      if (inflate_zlib(other, std::as_writable_bytes(std::span(out)))) {
        EXPECT_EQ(out, text(kTextBytes)) << bit;  // padding bits, the level in the header
      } else {
        ++refused;
      }
    }
    EXPECT_GT(refused, static_cast<int>(7 * stream.size()));
  }
}

TEST(Inflate, NoiseIsRefused) {
  std::mt19937 random(2);
  std::vector<std::byte> out(5000);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> noise(random() % 300);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
    if (noise.size() > 1 && round % 2 == 0) {
      noise[0] = std::byte{0x78};
      noise[1] = std::byte{0x01};
    }
    EXPECT_FALSE(inflate_zlib(noise, out));
  }
}

TEST(Fletcher32, OfAFewWordsByHand) {
  const std::uint8_t bytes[] = {1, 2, 3, 4, 5};
  const auto of_first = [&](std::size_t count) {
    return fletcher32(std::as_bytes(std::span(bytes)).first(count));
  };
  EXPECT_EQ(of_first(0), 0U);
  EXPECT_EQ(of_first(2), 0x0102'0102U);
  EXPECT_EQ(of_first(3), 0x0504'0402U);  // the words 0102 and 0300
  EXPECT_EQ(of_first(4), 0x0508'0406U);
  EXPECT_EQ(of_first(5), 0x0e0e'0906U);
}

}  // namespace
}  // namespace tally::digest
