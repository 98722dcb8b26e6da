// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

constexpr hsize_t kRows = 101, kColumns = 7;

std::vector<std::int32_t> numbers() {
  std::vector<std::int32_t> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), -300);
  return values;
}

struct Layout {
  const char* name;
  hsize_t chunk_rows, chunk_columns;  // 0: not chunked
  bool filtered;
};

hid_t storage_of(const Layout& layout) {
  if (layout.chunk_rows == 0) return raw::ok(H5Pcreate(H5P_DATASET_CREATE));
  const hid_t storage = raw::chunked({layout.chunk_rows, layout.chunk_columns});
  if (layout.filtered) {
    raw::ok(H5Pset_shuffle(storage));
    raw::ok(H5Pset_deflate(storage, 4));
    raw::ok(H5Pset_fletcher32(storage));
  }
  return storage;
}

class Rows : public testing::TestWithParam<Layout> {};

TEST_P(Rows, AnyRangeIsWhatWasWritten) {
  const raw::TemporaryFolder folder;
  const auto values = numbers();
  raw::create(folder / "a.h5", [&](hid_t file) {
    raw::dataset(file, "/g/x", H5T_STD_I32LE, {kRows, kColumns}, values.data(),
                 storage_of(GetParam()));
  });
  const Dataset dataset = Reader(folder / "a.h5").dataset("/g/x");
  EXPECT_EQ(dataset.read_all<std::int32_t>(), values);

  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t first = random() % (kRows + 1);
    const std::size_t count = random() % (kRows + 1 - first);
    std::vector<std::int32_t> rows(count * kColumns);
    dataset.read_rows(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count),
                      std::as_writable_bytes(std::span(rows)));
    const auto expected = std::span(values).subspan(first * kColumns, rows.size());
    ASSERT_TRUE(std::ranges::equal(rows, expected)) << first << " + " << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Rows,
                         testing::Values(Layout{"contiguous", 0, 0, false},
                                         Layout{"chunked", 16, 7, false},
                                         Layout{"tiles", 16, 4, false},
                                         Layout{"filtered", 16, 7, true},
                                         Layout{"filtered_tiles", 9, 2, true}),
                         [](const auto& layout) { return layout.param.name; });

TEST(RowStatistics, AreThoseOfTheFile) {
  const raw::TemporaryFolder folder;
  const auto values = numbers();
  raw::create(folder / "a.h5", [&](hid_t file) {
    raw::dataset(file, "/plain", H5T_STD_I32LE, {kRows, kColumns}, values.data());
    raw::dataset(file, "/packed", H5T_STD_I32LE, {kRows, kColumns}, values.data(),
                 storage_of({"", 16, 7, true}));
    raw::dataset(file, "/scalar", H5T_IEEE_F64LE, {}, values.data());
    raw::dataset(file, "/none", H5T_STD_U8LE, {0, 5}, nullptr);
    const hid_t compact = raw::ok(H5Pcreate(H5P_DATASET_CREATE));
    raw::ok(H5Pset_layout(compact, H5D_COMPACT));
    raw::dataset(file, "/compact", H5T_STD_U16LE, {3}, values.data(), compact);
  });
  const Reader file(folder / "a.h5");
  const DatasetInfo plain = file.dataset("/plain").info();
  EXPECT_EQ(plain.element, Element::i32);
  EXPECT_EQ(plain.shape, (Shape{kRows, kColumns}));
  EXPECT_EQ(plain.row_bytes(), 28);
  EXPECT_EQ(plain.storage, Storage::contiguous);
  EXPECT_GT(plain.offset, 0);
  const DatasetInfo packed = file.dataset("/packed").info();
  EXPECT_EQ(packed.storage, Storage::chunked);
  EXPECT_EQ(packed.chunk_shape, (Shape{16, 7}));
  EXPECT_EQ(packed.filters, (std::vector<std::string>{"shuffle", "deflate", "fletcher32"}));
  EXPECT_EQ(packed.offset, -1);
  EXPECT_EQ(file.dataset("/scalar").info().num_rows(), 1);
  EXPECT_EQ(file.dataset("/scalar").read_all<double>().size(), 1U);
  EXPECT_TRUE(file.dataset("/none").read_all<std::uint8_t>().empty());
  EXPECT_EQ(file.dataset("/compact").info().storage, Storage::compact);
  EXPECT_EQ(file.dataset("/compact").read_all<std::uint16_t>().size(), 3U);
}

TEST(RowStatistics, RangesOutsideAreADefectOfTheCaller) {
  const raw::TemporaryFolder folder;
  const auto values = numbers();
  raw::create(folder / "a.h5",
              [&](hid_t file) { raw::dataset(file, "/x", H5T_STD_I32LE, {10}, values.data()); });
  const Dataset dataset = Reader(folder / "a.h5").dataset("/x");
  std::vector<std::byte> out(40);
  const auto refused = [&](std::int64_t first, std::int64_t count, std::size_t bytes) {
    expect_error(ErrorKind::internal, {"/x"},
                 [&] { dataset.read_rows(first, count, std::span(out).first(bytes)); });
  };
  refused(0, 11, 40);
  refused(-1, 2, 40);
  refused(10, 1, 40);
  refused(0, 10, 39);
  refused(1, std::numeric_limits<std::int64_t>::max(), 40);
}

TEST(RowStatistics, ContiguousRowsAreReadBehindAUserBlock) {
  const raw::TemporaryFolder folder;
  const auto values = numbers();
  const hid_t creation = raw::ok(H5Pcreate(H5P_FILE_CREATE));
  raw::ok(H5Pset_userblock(creation, 4096));
  const hid_t file =
      raw::ok(H5Fcreate((folder / "a.h5").c_str(), H5F_ACC_EXCL, creation, H5P_DEFAULT));
  raw::dataset(file, "/x", H5T_STD_I32LE, {kRows, kColumns}, values.data());
  raw::ok(H5Fclose(file));
  raw::ok(H5Pclose(creation));
  EXPECT_EQ(Reader(folder / "a.h5").dataset("/x").read_all<std::int32_t>(), values);
}

TEST(RowStatistics, ContiguousRowsOfAFileThatWasCutAreRefused) {
  const raw::TemporaryFolder folder;
  const auto values = numbers();
  raw::create(folder / "a.h5", [&](hid_t file) {
    raw::dataset(file, "/x", H5T_STD_I32LE, {kRows, kColumns}, values.data());
  });
  const Dataset dataset = Reader(folder / "a.h5").dataset("/x");
  std::filesystem::resize_file(folder / "a.h5",
                               static_cast<std::uintmax_t>(dataset.info().offset + 50 * 28 + 3));
  std::vector<std::byte> out(101 * 28);
  EXPECT_NO_THROW(dataset.read_rows(0, 50, out));
  expect_error(ErrorKind::dataset, {"/x cannot be read, rows 40 to 59 (the file ends early)"},
               [&] { dataset.read_rows(40, 20, out); });
}

// So HDF5 never converts: reading a dataset asks for the type that it is stored with.
TEST(RowStatistics, TheElementIsTheStoredType) {
  const raw::TemporaryFolder folder;
  const hid_t types[] = {H5T_STD_U8LE,   H5T_STD_I8LE,  H5T_STD_U16LE, H5T_STD_I16LE,
                         H5T_STD_U32LE,  H5T_STD_I32LE, H5T_STD_U64LE, H5T_STD_I64LE,
                         H5T_IEEE_F32LE, H5T_IEEE_F64LE};
  raw::create(folder / "a.h5", [&](hid_t file) {
    const std::int64_t value = 0x0102030405060708;
    for (std::size_t i = 0; i < std::size(types); ++i) {
      raw::dataset(file, ("/" + std::to_string(i)).c_str(), types[i], {1}, &value);
    }
  });
  const Reader file(folder / "a.h5");
  for (std::size_t i = 0; i < std::size(types); ++i) {
    const Dataset dataset = file.dataset("/" + std::to_string(i));
    EXPECT_EQ(dataset.info().element, static_cast<Element>(i));
    EXPECT_EQ(size_bytes(dataset.info().element), static_cast<std::int64_t>(H5Tget_size(types[i])));
    std::vector<std::byte> out(8);
    dataset.read_rows(0, 1, out);
    for (std::size_t b = 0; b < H5Tget_size(types[i]); ++b) {
      EXPECT_EQ(out[b], static_cast<std::byte>(8 - b)) << i;
    }
  }
}

TEST(RawChunks, AreTheBytesBehindTheFilters) {
  const raw::TemporaryFolder folder;
  const auto values = numbers();
  raw::create(folder / "a.h5", [&](hid_t file) {
    raw::dataset(file, "/plain", H5T_STD_I32LE, {kRows, kColumns}, values.data(),
                 storage_of({"", 50, 4, false}));
    raw::dataset(file, "/packed", H5T_STD_I32LE, {kRows, kColumns}, values.data(),
                 storage_of({"", 50, 7, true}));
    raw::dataset(file, "/contiguous", H5T_STD_I32LE, {kRows, kColumns}, values.data());
  });
  const Reader file(folder / "a.h5");
  const Dataset plain = file.dataset("/plain");
  EXPECT_EQ(plain.info().chunk_grid(), (Shape{3, 2}));
  std::vector<std::byte> bytes;
  EXPECT_EQ(plain.read_raw_chunk(3, bytes), 0U);  // rows 50 to 99, columns 4 to 6 and one unused
  ASSERT_EQ(bytes.size(), 50U * 4 * 4);
  std::int32_t value = 0;
  std::memcpy(&value, bytes.data() + 16, 4);
  EXPECT_EQ(value, values[51 * kColumns + 4]);

  const Dataset packed = file.dataset("/packed");
  EXPECT_EQ(packed.info().shuffled_bytes, 4);
  EXPECT_TRUE(packed.info().edges_filtered);
  EXPECT_EQ(packed.read_raw_chunk(0, bytes), 0U);
  EXPECT_EQ(std::ssize(bytes), packed.raw_chunk_bytes(0));
  EXPECT_LT(bytes.size(), 50U * 7 * 4);

  for (const std::int64_t chunk : {-1, 3}) {
    expect_error(ErrorKind::internal, {"/packed"}, [&] { packed.read_raw_chunk(chunk, bytes); });
  }
  expect_error(ErrorKind::internal, {"/contiguous"},
               [&] { file.dataset("/contiguous").read_raw_chunk(0, bytes); });
}

TEST(RawChunks, ADeclaredLengthThatNothingExplainsIsRefused) {
  const raw::TemporaryFolder folder;
  const std::vector<std::byte> longer(3000);
  raw::create(folder / "a.h5", [&](hid_t file) {
    const hid_t storage = raw::chunked({10});
    raw::ok(H5Pset_deflate(storage, 1));
    raw::dataset(file, "/x", H5T_STD_U8LE, {10}, nullptr, storage);
    const hid_t dataset = raw::ok(H5Dopen2(file, "/x", H5P_DEFAULT));
    const hsize_t corner[] = {0};
    raw::ok(H5Dwrite_chunk(dataset, H5P_DEFAULT, 1, corner, longer.size(), longer.data()));
    raw::ok(H5Dclose(dataset));
  });
  const Dataset dataset = Reader(folder / "a.h5").dataset("/x");
  std::vector<std::byte> bytes;
  expect_error(ErrorKind::dataset, {"/x declares a chunk 0 of 3000 bytes, expected at most 1044"},
               [&] { dataset.read_raw_chunk(0, bytes); });
}

TEST(RowStatistics, ADamagedFilteredChunkIsRefusedWithItsRows) {
  const raw::TemporaryFolder folder;
  const auto values = numbers();
  haddr_t at = 0;
  raw::create(folder / "a.h5", [&](hid_t file) {
    const hid_t storage = raw::chunked({50, 7});
    raw::ok(H5Pset_fletcher32(storage));
    raw::dataset(file, "/x", H5T_STD_I32LE, {kRows, kColumns}, values.data(), storage);
    const hid_t dataset = raw::ok(H5Dopen2(file, "/x", H5P_DEFAULT));
    const hsize_t chunk[] = {50, 0};
    unsigned mask = 0;
    hsize_t bytes = 0;
    raw::ok(H5Dget_chunk_info_by_coord(dataset, chunk, &mask, &at, &bytes));
    H5Dclose(dataset);
  });
  std::FILE* raw_file = std::fopen((folder / "a.h5").c_str(), "r+b");
  ASSERT_NE(raw_file, nullptr);
  std::fseek(raw_file, static_cast<long>(at) + 20, SEEK_SET);
  std::fputc(0x55, raw_file);
  std::fclose(raw_file);

  const Dataset dataset = Reader(folder / "a.h5").dataset("/x");
  std::vector<std::byte> out(101 * 28);
  EXPECT_NO_THROW(dataset.read_rows(0, 50, out));
  expect_error(ErrorKind::dataset, {"/x cannot be read, rows 60 to 69", "HDF5: "},
               [&] { dataset.read_rows(60, 10, out); });
}

}  // namespace
}  // namespace tally::hdf5
