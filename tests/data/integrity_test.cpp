// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

std::int64_t offset_of(const std::filesystem::path& path, const char* dataset) {
  return hdf5::Reader(path).dataset(dataset).info().offset;
}

void flip(const std::filesystem::path& path, std::int64_t at, unsigned bits) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(static_cast<unsigned>(byte) ^ bits));
  ASSERT_TRUE(file.flush());
}

TEST(Integrity, AFlippedBitIsRefusedWithTheRowsOfItsBlock) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "a.h5");
  flip(folder / "a.h5", offset_of(folder / "a.h5", "/inputs/image") + 5 * 36, 0x10);
  DataSet data_set(folder / "a.h5");
  const ColumnInfo& image = data_set.info().columns.inputs[0];
  EXPECT_NO_THROW(rows_of(data_set, image, 0, 4));
  EXPECT_NO_THROW(rows_of(data_set, image, 8, 2));
  for (const std::int64_t row : {4, 5, 6, 7}) {  // the whole block is not trusted
    expect_error(ErrorKind::dataset,
                 {"a.h5', /inputs/image rows 4..7 have the CRC-32C", "expected", "damaged"},
                 [&] { rows_of(data_set, image, row, 1); });
  }
  expect_error(ErrorKind::dataset, {"rows 4..7"}, [&] { rows_of(data_set, image, 0, 10); });
}

TEST(Integrity, TheShortLastBlockIsNamedByItsRows) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "a.h5");
  flip(folder / "a.h5", offset_of(folder / "a.h5", "/targets/label") + 9 * 8, 1);
  DataSet data_set(folder / "a.h5");
  expect_error(ErrorKind::dataset, {"/targets/label rows 8..9"},
               [&] { rows_of(data_set, data_set.info().columns.targets[0], 0, 10); });
}

// Every byte of every column and of every table, one bit each: no read may succeed with other
// bytes than were written.
TEST(Integrity, NoFlippedByteIsEverAcceptedAsData) {
  const raw::TemporaryFolder folder;
  const SampleFile sample{.num_samples = 9, .rows_per_block = 2};
  const auto path = folder / "a.h5";
  sample.write(path);
  const auto read_all = [&] {
    DataSet data_set(path);
    std::vector<std::vector<std::byte>> columns;
    for (const auto* list : {&data_set.info().columns.inputs, &data_set.info().columns.targets,
                             &data_set.info().columns.groups}) {
      for (const ColumnInfo& column : *list) {
        columns.push_back(rows_of(data_set, column, 0, sample.num_samples));
      }
    }
    return columns;
  };
  const auto good = read_all();
  std::mt19937 random(1);
  int refused = 0, mutants = 0;
  for (const char* column : {"/inputs/image", "/targets/label", "/groups/camera"}) {
    for (const std::string& dataset : {std::string(column), std::string("/checksums") + column}) {
      const hdf5::DatasetInfo info = hdf5::Reader(path).dataset(dataset).info();
      for (std::int64_t i = 0; i < info.num_rows() * info.row_bytes(); ++i) {
        const unsigned bits = 1U << (random() % 8);
        flip(path, info.offset + i, bits);
        ++mutants;
        try {
          EXPECT_EQ(read_all(), good);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::dataset);
          ++refused;
        }
        flip(path, info.offset + i, bits);
      }
    }
  }
  EXPECT_EQ(refused, mutants);  // a flipped bit in a row or its sum is always found
  EXPECT_EQ(mutants, 9 * (36 + 8 + 4) + 3 * 5 * 4);
  EXPECT_EQ(read_all(), good);
}

}  // namespace
}  // namespace tally::data
