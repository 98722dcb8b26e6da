// SPDX-License-Identifier: Apache-2.0
// Chunks that somebody damaged, by accident or not: refused, or still what was written.
#include "reading/chunk_decoder.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <stdexcept>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "packed_file.hpp"

namespace tally::data {
namespace {

constexpr std::size_t kElements = 300;

// Memory that ends where none is: who reads or writes past its end ends the test.
class Guarded {
 public:
  Guarded() {
    void* area =
        ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED ||
        ::mprotect(static_cast<std::byte*>(area) + kBytes, kBytes, PROT_NONE) != 0) {
      throw std::runtime_error("no guarded memory");
    }
    area_ = static_cast<std::byte*>(area);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { ::munmap(area_, 2 * kBytes); }

  std::span<std::byte> last(std::size_t bytes) const { return {area_ + kBytes - bytes, bytes}; }
  std::span<const std::byte> copy_of(const std::vector<std::byte>& bytes) const {
    std::ranges::copy(bytes, last(bytes.size()).begin());
    return last(bytes.size());
  }

 private:
  static constexpr std::size_t kBytes = 1 << 16;
  std::byte* area_ = nullptr;
};

struct Stored {
  ChunkDecoder decoder;
  std::vector<std::byte> bytes;
  std::vector<std::byte> values;
};

// One chunk, as HDF5 stores it.
Stored stored_by_hdf5(const std::vector<std::string>& filters, std::size_t element_bytes) {
  const raw::TemporaryFolder folder;
  auto values = some_numbers(kElements, element_bytes);
  raw::create(folder / "a.h5", [&](hid_t file) {
    raw::dataset(file, "/x", number_type(element_bytes), {kElements}, values.data(),
                 Packing{filters, {kElements}}.properties());
  });
  const hdf5::Dataset dataset = hdf5::Reader(folder / "a.h5").dataset("/x");
  std::vector<std::byte> bytes;
  EXPECT_EQ(dataset.read_raw_chunk(0, bytes), 0U);
  return {ChunkDecoder(dataset.info()), std::move(bytes), std::move(values)};
}

void mutate(std::vector<std::byte>& bytes, std::mt19937& random) {
  const auto somewhere = [&] { return random() % (bytes.size() + 1); };
  const auto any_byte = [&] { return static_cast<std::byte>(random()); };
  switch (random() % 5) {
    case 0:  // one bit
      if (bytes.empty()) return;
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
      return;
    case 1:  // the end is missing
      bytes.resize(somewhere());
      return;
    case 2:  // a run of noise
      for (std::size_t at = somewhere(), end = somewhere(); at < end; ++at) bytes[at] = any_byte();
      return;
    case 3:  // more behind it
      for (auto left = random() % 50; left > 0; --left) bytes.push_back(any_byte());
      return;
    default: {  // a part is missing
      const auto from = static_cast<std::ptrdiff_t>(somewhere());
      bytes.erase(bytes.begin() + from,
                  bytes.begin() + std::max(from, static_cast<std::ptrdiff_t>(somewhere())));
    }
  }
}

class Damaged : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Damaged, IsRefusedOrStillWhatWasWritten) {
  const bool has_sum = GetParam() != std::vector<std::string>{"shuffle"};
  std::mt19937 random(5);
  const Guarded input, output;
  for (const std::size_t element_bytes : {1U, 4U, 8U}) {
    const Stored stored = stored_by_hdf5(GetParam(), element_bytes);
    const auto out = output.last(stored.values.size());
    EXPECT_EQ(stored.decoder.decode(stored.bytes, 0, out), "");
    EXPECT_TRUE(std::ranges::equal(out, stored.values));
    int refused = 0;
    for (int round = 0; round < 5'000; ++round) {
      auto bytes = stored.bytes;
      for (auto times = 1 + random() % 3; times > 0; --times) mutate(bytes, random);
      const bool same = bytes == stored.bytes;
      const std::string problem = stored.decoder.decode(input.copy_of(bytes), 0, out);
      refused += problem.empty() ? 0 : 1;
      if (has_sum && problem.empty()) {
        EXPECT_TRUE(std::ranges::equal(out, stored.values));
      }
      EXPECT_FALSE(same && !problem.empty());
    }
    EXPECT_GT(refused, has_sum ? 3'500 : 1'000);
  }
}

TEST_P(Damaged, AnyMaskOfFiltersIsSurvived) {
  std::mt19937 random(6);
  const Stored stored = stored_by_hdf5(GetParam(), 4);
  std::vector<std::byte> out(stored.values.size());
  for (unsigned left_out = 0; left_out < 16; ++left_out) {
    for (int round = 0; round < 300; ++round) {
      auto bytes = stored.bytes;
      if (round > 0) mutate(bytes, random);
      stored.decoder.decode(bytes, left_out, out);
    }
  }
  EXPECT_EQ(stored.decoder.decode(stored.values, 0xffU, out), "");
  EXPECT_EQ(out, stored.values);
}

INSTANTIATE_TEST_SUITE_P(
    Filters, Damaged,
    testing::Values(std::vector<std::string>{"deflate 1"}, std::vector<std::string>{"deflate 9"},
                    std::vector<std::string>{"shuffle", "deflate 4"},
                    std::vector<std::string>{"shuffle", "deflate 4", "fletcher32"},
                    std::vector<std::string>{"fletcher32", "deflate 4"},
                    std::vector<std::string>{"fletcher32", "shuffle", "deflate 4"},
                    std::vector<std::string>{"fletcher32"}, std::vector<std::string>{"shuffle"}));

TEST(ChunkDecoder, AStreamOfMoreThanTheChunkIsRefused) {
  const Stored bomb = stored_by_hdf5({"deflate 9"}, 8);  // 2400 bytes
  for (const std::size_t length : {0U, 1U, 1200U, 2399U, 2401U, 100'000U}) {
    std::vector<std::byte> out(length);
    EXPECT_EQ(bomb.decoder.decode(bomb.bytes, 0, out),
              format("does not inflate to {} bytes", length));
  }
}

TEST(ChunkDecoder, SaysWhatIsWrong) {
  const Stored summed = stored_by_hdf5({"fletcher32"}, 4);
  std::vector<std::byte> out(summed.values.size());
  const std::span bytes(summed.bytes);
  EXPECT_EQ(summed.decoder.decode(bytes.first(3), 0, out), "is too short for its checksum");
  EXPECT_EQ(summed.decoder.decode(bytes.subspan(1), 0, out),
            "does not match its Fletcher-32 checksum");
  EXPECT_EQ(summed.decoder.decode(bytes.first(7), 1, out), "holds 7 bytes, expected 1200");
  // As HDF5 1.6.2 and older wrote it.
  auto swapped = summed.bytes;
  std::swap(swapped[1200], swapped[1201]);
  std::swap(swapped[1202], swapped[1203]);
  EXPECT_EQ(summed.decoder.decode(swapped, 0, out), "");
}

}  // namespace
}  // namespace tally::data
