// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tally/digest/sha256_and_checksums.hpp>

namespace tally::digest {
namespace {

// FIPS 180-2, appendix B.
constexpr char kOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, HasTheValuesOfTheStandard) {
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, IsTheSameInPieces) {
  Sha256 hash;
  hash.update("a");
  hash.update(std::string_view());
  const std::string of_a = hash.hex();
  hash.update("bc");
  EXPECT_EQ(of_a, sha256_hex("a"));  // asking does not end it
  EXPECT_EQ(hash.hex(), kOfAbc);
  EXPECT_EQ(hash.hex(), kOfAbc);
}

TEST(Sha256, GoesOnAfterBeingMoved) {
  Sha256 first;
  first.update("ab");
  Sha256 second = std::move(first);
  second.update("c");
  EXPECT_EQ(second.hex(), kOfAbc);
}

TEST(Sha256, KeepsTheBytesItIsAskedToUnlessTheyAreTooMany) {
  Sha256 digest;
  digest.update("before");
  digest.keep(4);
  digest.update("abc");
  digest.update("d");
  EXPECT_EQ(digest.recorded().size(), 4U);
  EXPECT_EQ(digest.recorded().front(), std::byte{'a'});
  digest.update("e");
  EXPECT_TRUE(digest.recorded().empty());
  EXPECT_EQ(digest.num_bytes(), 5);
  EXPECT_EQ(digest.hex(), sha256_hex("beforeabcde"));
}

}  // namespace
}  // namespace tally::digest
