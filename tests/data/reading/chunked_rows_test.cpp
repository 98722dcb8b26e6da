// SPDX-License-Identifier: Apache-2.0
#include "reading/chunked_rows.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <tuple>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "expect_error.hpp"
#include "packed_file.hpp"

namespace tally::data {
namespace {

constexpr hsize_t kRows = 101;

std::vector<std::byte> read_range(ChunkedRows& rows, const hdf5::DatasetInfo& info,
                                  std::int64_t first, std::int64_t count) {
  std::vector<std::byte> out(to_size(count * info.row_bytes()));
  rows.read(first, count, out);
  return out;
}

void expect_all_ranges(const std::filesystem::path& path, const char* name,
                       std::span<const std::byte> expected) {
  const hdf5::Dataset dataset = hdf5::Reader(path).dataset(name);
  ASSERT_TRUE(ChunkDecoder::knows(dataset.info()));
  ChunkedRows rows(path, dataset);
  const std::int64_t num_rows = dataset.info().num_rows();
  ASSERT_TRUE(std::ranges::equal(read_range(rows, dataset.info(), 0, num_rows), expected));
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const auto first = static_cast<std::int64_t>(random()) % (num_rows + 1);
    const auto count = static_cast<std::int64_t>(random()) % (num_rows + 1 - first);
    const auto found = read_range(rows, dataset.info(), first, count);
    ASSERT_TRUE(std::ranges::equal(
        found, expected.subspan(to_size(first * dataset.info().row_bytes()), found.size())))
        << first << " + " << count;
  }
}

// Element bytes, rows per chunk.
class EveryFilter : public testing::TestWithParam<std::tuple<std::size_t, hsize_t>> {};

TEST_P(EveryFilter, GivesWhatHdf5Reads) {
  const auto [bytes, chunk_rows] = GetParam();
  constexpr hsize_t kColumns = 5;
  const raw::TemporaryFolder folder;
  const auto values = some_numbers(kRows * kColumns, bytes);
  const hid_t type = number_type(bytes);
  int made = 0;
  for (int level = 0; level <= 9; ++level) {
    for (const bool shuffled : {false, true}) {
      for (const bool summed : {false, true}) {
        Packing packing{{}, {chunk_rows, kColumns}};
        if (shuffled) packing.filters.emplace_back("shuffle");
        if (level > 0) packing.filters.push_back(format("deflate {}", level));
        if (summed) packing.filters.emplace_back("fletcher32");
        const auto path = folder / format("{}.h5", made++);
        raw::create(path, [&](hid_t file) {
          // Without a limit, a chunk may have more rows than there are.
          const hsize_t rows[] = {kRows, kColumns}, most[] = {H5S_UNLIMITED, kColumns};
          const hid_t space = raw::ok(H5Screate_simple(2, rows, most));
          const hid_t properties = packing.properties();
          const hid_t dataset =
              raw::ok(H5Dcreate2(file, "/x", type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
          raw::ok(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
          raw::ok(H5Dclose(dataset));
          raw::ok(H5Pclose(properties));
          raw::ok(H5Sclose(space));
        });
        const auto by_hdf5 = read_by_hdf5(path, "/x", type, values.size());
        ASSERT_EQ(by_hdf5, values);
        expect_all_ranges(path, "/x", by_hdf5);
      }
    }
  }
  EXPECT_EQ(made, 40);
}

INSTANTIATE_TEST_SUITE_P(ElementsAndChunks, EveryFilter,
                         testing::Combine(testing::Values(1, 2, 4, 8),
                                          testing::Values(1, 7, 64, 150)));

TEST(ChunkedRows, FiltersInAnyOrder) {
  const raw::TemporaryFolder folder;
  const auto values = some_numbers(kRows * 3, 4);
  std::vector<std::string> filters{"deflate 6", "fletcher32", "shuffle"};
  int made = 0;
  do {
    const auto path = folder / format("{}.h5", made++);
    raw::create(path, [&](hid_t file) {
      raw::dataset(file, "/x", H5T_STD_U32LE, {kRows, 3}, values.data(),
                   Packing{filters, {10, 3}}.properties());
    });
    expect_all_ranges(path, "/x", read_by_hdf5(path, "/x", H5T_STD_U32LE, values.size()));
  } while (std::ranges::next_permutation(filters).found);
  EXPECT_EQ(made, 6);
}

TEST(ChunkedRows, ChunksThatCutRows) {
  const raw::TemporaryFolder folder;
  const raw::Dims shape{53, 6, 5, 4};
  const auto values = some_numbers(std::size_t{53} * 6 * 5 * 4, 2);
  int made = 0;
  for (const raw::Dims& chunk :
       {raw::Dims{10, 6, 5, 3}, raw::Dims{10, 6, 2, 4}, raw::Dims{7, 4, 5, 4},
        raw::Dims{16, 4, 2, 3}, raw::Dims{1, 1, 1, 1}, raw::Dims{53, 1, 5, 4}}) {
    const auto path = folder / format("{}.h5", made++);
    raw::create(path, [&](hid_t file) {
      raw::dataset(file, "/x", H5T_STD_U16LE, shape, values.data(),
                   Packing{{"shuffle", "deflate 1"}, chunk}.properties());
    });
    expect_all_ranges(path, "/x", values);
  }
}

// Chunk 1 of each file leaves some of its filters out, as HDF5 does where a filter does not pay.
TEST(ChunkedRows, FiltersThatAChunkLeavesOut) {
  const raw::TemporaryFolder folder;
  const auto values = some_numbers(kRows, 4);
  const auto plain = std::span(values).subspan(200, 200);  // rows 50 to 99
  std::vector<std::byte> shuffled(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) shuffled[i % 4 * 50 + i / 4] = plain[i];
  for (const auto& [left_out, stored] :
       {std::pair(0b11U, std::vector(plain.begin(), plain.end())), std::pair(0b10U, shuffled)}) {
    const auto path = folder / format("{}.h5", left_out);
    raw::create(path, [&, &mask = left_out, &bytes = stored](hid_t file) {
      raw::dataset(file, "/x", H5T_STD_U32LE, {kRows}, values.data(),
                   Packing{{"shuffle", "deflate 1"}, {50}}.properties());
      const hid_t dataset = raw::ok(H5Dopen2(file, "/x", H5P_DEFAULT));
      const hsize_t corner[] = {50};
      raw::ok(H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, corner, bytes.size(), bytes.data()));
      raw::ok(H5Dclose(dataset));
    });
    ASSERT_EQ(read_by_hdf5(path, "/x", H5T_STD_U32LE, values.size()), values);
    expect_all_ranges(path, "/x", values);
  }
}

TEST(ChunkedRows, WhatIsNotKnownIsLeftToHdf5) {
  const raw::TemporaryFolder folder;
  const auto values = some_numbers(kRows, 4);
  raw::create(folder / "a.h5", [&](hid_t file) {
    raw::dataset(file, "/twice", H5T_STD_U32LE, {kRows}, values.data(),
                 Packing{{"deflate 1", "deflate 2"}, {50}}.properties());
    const hid_t edges = Packing{{"deflate 1"}, {50}}.properties();
    raw::ok(H5Pset_chunk_opts(edges, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS));
    raw::dataset(file, "/edges", H5T_STD_U32LE, {kRows}, values.data(), edges);
    raw::dataset(file, "/contiguous", H5T_STD_U32LE, {kRows}, values.data());
  });
  const hdf5::Reader file(folder / "a.h5");
  for (const char* name : {"/twice", "/edges", "/contiguous"}) {
    EXPECT_FALSE(ChunkDecoder::knows(file.dataset(name).info())) << name;
  }
}

class Shared : public testing::Test {
 protected:
  Shared() {
    raw::create(folder_ / "a.h5", [&](hid_t file) {
      raw::dataset(file, "/x", H5T_STD_U32LE, {2000}, values_.data(),
                   Packing{{"shuffle", "deflate 1"}, {100}}.properties());
    });
  }
  raw::TemporaryFolder folder_;
  std::vector<std::byte> values_ = some_numbers(2000, 4);
};

TEST_F(Shared, ThreadsGetTheirRowsWhoeverDecodesThem) {
  const hdf5::Dataset dataset = hdf5::Reader(folder_ / "a.h5").dataset("/x");
  for (const int num_threads : {2, 5}) {
    ChunkedRows rows(folder_ / "a.h5", dataset);
    rows.expect({0, 2000}, num_threads);
    std::atomic<std::int64_t> next = 0;
    std::vector<std::byte> read(values_.size());
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < num_threads; ++thread) {
        threads.emplace_back([&] {
          for (std::int64_t first = 0; (first = next.fetch_add(8)) < 2000;) {
            rows.read(first, 8, std::span(read).subspan(to_size(first * 4), 32));
          }
        });
      }
    }
    EXPECT_EQ(read, values_) << num_threads;
  }
}

TEST_F(Shared, ADamagedChunkIsNamedAndOthersAreRead) {
  raw::edit(folder_ / "a.h5", [&](hid_t file) {
    const hid_t dataset = raw::ok(H5Dopen2(file, "/x", H5P_DEFAULT));
    const hsize_t corner[] = {700};
    raw::ok(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, corner, 90, values_.data()));
    raw::ok(H5Dclose(dataset));
  });
  const hdf5::Dataset dataset = hdf5::Reader(folder_ / "a.h5").dataset("/x");
  ChunkedRows rows(folder_ / "a.h5", dataset);
  rows.expect({0, 2000}, 3);
  for (const std::int64_t first : {0, 650, 800}) {
    const auto found = read_range(rows, dataset.info(), first, 50);
    EXPECT_TRUE(std::ranges::equal(found, std::span(values_).subspan(to_size(first * 4), 200)));
  }
  for (const std::int64_t count : {50, 150}) {  // a part of the chunk, and all of it
    expect_error(ErrorKind::dataset,
                 {"a.h5', /x chunk 7 does not inflate to 400 bytes (read)", "damaged"},
                 [&] { read_range(rows, dataset.info(), 700, count); });
  }
}

}  // namespace
}  // namespace tally::data
