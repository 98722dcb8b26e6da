// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <tuple>

#include <tally/data/column_values.hpp>
#include <tally/data/data_set.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Rows per block and storage.
class ReadRows : public testing::TestWithParam<std::tuple<std::int64_t, SampleStorage>> {};

TEST_P(ReadRows, AnyRangeOfAnyColumnIsWhatWasWritten) {
  const auto [rows_per_block, storage] = GetParam();
  const raw::TemporaryFolder folder;
  const SampleFile sample{.num_samples = 131, .rows_per_block = rows_per_block, .storage = storage};
  sample.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const std::pair<ColumnInfo, std::vector<std::byte>> columns[] = {
      {data_set.info().columns.inputs[0], bytes_of(sample.images())},
      {data_set.info().columns.targets[0], bytes_of(sample.labels())},
      {data_set.info().columns.groups[0], bytes_of(sample.cameras())}};

  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto& [column, written] = columns[random() % 3];
    const auto first = static_cast<std::int64_t>(random() % 132);
    const auto count = static_cast<std::int64_t>(random()) % (132 - first);
    const auto rows = rows_of(data_set, column, first, count);
    const auto expected = std::span(written).subspan(
        static_cast<std::size_t>(first * column.row_bytes()), rows.size());
    ASSERT_TRUE(std::ranges::equal(rows, expected)) << column.path << " " << first << " " << count;
  }
}

INSTANTIATE_TEST_SUITE_P(BlocksAndStorage, ReadRows,
                         testing::Combine(testing::Values(0, 1, 7, 64, 131, 1000),
                                          testing::Values(SampleStorage::contiguous,
                                                          SampleStorage::chunked,
                                                          SampleStorage::deflated)));

TEST(ReadColumn, GivesRowsOfItsWidth) {
  const raw::TemporaryFolder folder;
  const SampleFile sample{.num_samples = 9};
  sample.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const ColumnInfo& label = data_set.info().columns.targets[0];
  const auto labels = sample.labels();
  EXPECT_EQ(read_column<std::int64_t>(data_set, label, 2, 5),
            std::vector(labels.begin() + 2, labels.begin() + 7));
  EXPECT_TRUE(read_column<std::int64_t>(data_set, label, 9, 0).empty());
  expect_error(ErrorKind::internal, {"/targets/label", "are 8 bytes, 4 were expected"},
               [&] { read_column<std::int32_t>(data_set, label, 2, 5); });
}

TEST(ReadLargeRows, BlocksAreReadInPiecesAndWhole) {
  const raw::TemporaryFolder folder;
  // 13 rows of 49 KiB in blocks of 3: more than one piece, an edge at both ends.
  const SampleFile sample{.num_samples = 13, .height = 128, .width = 128, .rows_per_block = 3};
  sample.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const ColumnInfo& image = data_set.info().columns.inputs[0];
  const auto written = bytes_of(sample.images());
  const auto rows = rows_of(data_set, image, 1, 11);
  EXPECT_TRUE(std::ranges::equal(
      rows, std::span(written).subspan(static_cast<std::size_t>(image.row_bytes()), rows.size())));
  EXPECT_EQ(data_set.bytes_read(), 12 * image.row_bytes());  // both edges whole
}

TEST(ReadEdges, ConsecutiveRangesReadABlockOnce) {
  const raw::TemporaryFolder folder;
  const SampleFile sample{.num_samples = 100, .rows_per_block = 64};
  sample.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const ColumnInfo& image = data_set.info().columns.inputs[0];
  for (std::int64_t first = 0; first < 100; first += 10) rows_of(data_set, image, first, 10);
  EXPECT_EQ(data_set.bytes_read(), 100 * image.row_bytes());
}

class LabelRange : public testing::Test {
 protected:
  void with_label(std::int64_t index, std::int64_t value, std::optional<std::int64_t> ignored) {
    SampleFile sample{.num_samples = 1000};
    sample.write(folder_ / "val.h5");
    raw::edit(folder_ / "val.h5", [&](hid_t file) {
      auto labels = sample.labels();
      labels[static_cast<std::size_t>(index)] = value;
      raw::remove(file, "/targets/label");
      raw::dataset(file, "/targets/label", H5T_STD_I64LE, {1000}, labels.data());
      if (ignored) raw::attribute(file, "/", "ignore_index", H5T_STD_I64LE, {}, &*ignored);
    });
  }
  raw::TemporaryFolder folder_;
};

TEST_F(LabelRange, OutsideIsRefusedWithIndexAndValue) {
  with_label(817, 1000, std::nullopt);
  DataSet data_set(folder_ / "val.h5");
  const ColumnInfo& label = data_set.info().columns.targets[0];
  EXPECT_NO_THROW(rows_of(data_set, label, 0, 817));
  EXPECT_NO_THROW(rows_of(data_set, label, 818, 100));
  const std::string path = (folder_ / "val.h5").string();
  expect_error(ErrorKind::dataset,
               {"data set '" + path +
                "', /targets/label[817] = 1000, expected 0..4 (read). Check "
                "the labels with 'tally inspect " +
                path + "'."},
               [&] { rows_of(data_set, label, 800, 100); });
  std::vector<std::byte> out(800);
  EXPECT_NO_THROW(data_set.read_rows(label, 800, 100, out, RowCheck::checksums_only));
}

TEST_F(LabelRange, NegativeIsOutside) {
  with_label(0, -1, std::nullopt);
  DataSet data_set(folder_ / "val.h5");
  expect_error(ErrorKind::dataset, {"/targets/label[0] = -1, expected 0..4"},
               [&] { rows_of(data_set, data_set.info().columns.targets[0], 0, 1); });
}

TEST_F(LabelRange, IgnoreIndexIsAllowedAndNamed) {
  with_label(3, -100, -100);
  DataSet data_set(folder_ / "val.h5");
  EXPECT_NO_THROW(rows_of(data_set, data_set.info().columns.targets[0], 0, 1000));
}

TEST_F(LabelRange, OtherValuesBesideIgnoreIndexAreNot) {
  with_label(3, -99, -100);
  DataSet data_set(folder_ / "val.h5");
  expect_error(ErrorKind::dataset, {"[3] = -99, expected 0..4 or ignore_index -100"},
               [&] { rows_of(data_set, data_set.info().columns.targets[0], 0, 1000); });
}

}  // namespace
}  // namespace tally::data
