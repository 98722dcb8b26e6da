// SPDX-License-Identifier: Apache-2.0
#include "head_tail_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

// Counts what is asked of it.
class Counted final : public ByteSource {
 public:
  explicit Counted(std::size_t num_bytes) {
    for (std::size_t i = 0; i < num_bytes; ++i) bytes_.push_back(static_cast<std::byte>(i * i / 7));
  }
  using ByteSource::read;
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    ++num_reads;
    MemorySource(bytes_).read(offset, out);
  }
  mutable int num_reads = 0;

 private:
  std::vector<std::byte> bytes_;
};

TEST(EndsInMemoryTest, GivesTheSameBytes) {
  for (const std::size_t size : {0u, 1u, 4095u, 8192u, 8193u, 20000u}) {
    const Counted whole(size);
    const HeadTailCache ends(whole);
    EXPECT_EQ(ends.size(), size);
    for (std::size_t offset = 0; offset <= size; offset += 1 + offset / 9) {
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, (size - offset) / 2, size - offset}) {
        if (count > size - offset) continue;
        EXPECT_EQ(ends.read(offset, count), whole.read(offset, count)) << offset << " " << count;
      }
    }
    EXPECT_THROW(ends.read(size, 1), FormatError);
    EXPECT_THROW(ends.read(1, size), FormatError);
  }
}

TEST(EndsInMemoryTest, ReadsEachEndOnce) {
  const Counted whole(20'000);
  const HeadTailCache ends(whole);
  for (std::uint64_t offset = 0; offset < 4096; offset += 64) ends.read(offset, 64);
  for (std::uint64_t offset = 20'000 - 4096; offset < 20'000; offset += 64) ends.read(offset, 64);
  EXPECT_EQ(whole.num_reads, 2);
  ends.read(4000, 200);
  EXPECT_EQ(whole.num_reads, 3);
}

}  // namespace
}  // namespace tally::weights
