// SPDX-License-Identifier: Apache-2.0
// Data sets of several files: their rows are those of the files, one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/describe_data_set.hpp>
#include <tally/data/detection_objects.hpp>
#include <tally/data/sample_names.hpp>

#include "expect_error.hpp"
#include "object_file.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"
#include "shards/shards_fixture.hpp"
#include "spoil.hpp"

namespace tally::data {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::vector<std::byte> joined(std::vector<std::byte> first, const std::vector<std::byte>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

// Rows per checksum block, storage.
class JoinedRows : public Shards,
                   public testing::WithParamInterface<std::tuple<std::int64_t, SampleStorage>> {};

TEST_P(JoinedRows, AreThoseOfTheFilesInOrder) {
  const auto [rows_per_block, storage] = GetParam();
  DataSet set(write(three(rows_per_block, storage)));
  EXPECT_EQ(set.info().num_samples, 15);
  ASSERT_EQ(set.info().shards.size(), 3U);
  std::int64_t bytes = 0;
  std::vector<std::byte> images, labels;
  for (const Shard& shard : set.info().shards) {
    DataSet file(shard.path);
    bytes += file.info().file_bytes;
    images = joined(images, rows_of(file, file.info().columns.inputs[0], 0, shard.num_samples));
    labels = joined(labels, rows_of(file, file.info().target("label"), 0, shard.num_samples));
  }
  EXPECT_EQ(set.info().file_bytes, bytes);
  const ColumnInfo &image = set.info().columns.inputs[0], &label = set.info().target("label");
  EXPECT_EQ(image.num_rows, 15);
  std::filesystem::create_directory(folder_ / "disk");
  for (const bool staged : {false, true}) {
    if (staged) {
      EXPECT_GT(set.stage({1, 13}, folder_ / "disk"), 0);
    }
    set.expect({0, 15}, 1);
    for (std::int64_t first = 0; first < 15; ++first) {
      for (std::int64_t count = 0; first + count <= 15; ++count) {
        const auto part = [&](const auto& all, const ColumnInfo& column) {
          const auto begin = all.begin() + first * column.row_bytes();
          return std::vector<std::byte>(begin, begin + count * column.row_bytes());
        };
        ASSERT_EQ(rows_of(set, image, first, count), part(images, image)) << first << " " << count;
        ASSERT_EQ(rows_of(set, label, first, count), part(labels, label)) << first << " " << count;
      }
    }
  }
  EXPECT_THAT(verify(set), HasSubstr("all 15 rows read"));
}

INSTANTIATE_TEST_SUITE_P(Storage, JoinedRows,
                         testing::Combine(testing::Values(0, 1, 4, 64),
                                          testing::Values(SampleStorage::contiguous,
                                                          SampleStorage::chunked,
                                                          SampleStorage::deflated)));

// What each file keeps for the next read would add up over many files.
TEST_F(Shards, FilesThatWereReadKeepNothing) {
  DataSet set(write(three(4)));
  const ColumnInfo& label = set.info().target("label");
  const auto bytes_of_row = [&](std::int64_t row) {
    const std::int64_t before = set.bytes_read();
    rows_of(set, label, row, 1);
    return set.bytes_read() - before;
  };
  EXPECT_EQ(bytes_of_row(1), 4 * label.row_bytes()) << "a block";
  EXPECT_EQ(bytes_of_row(2), 0) << "of the same block";
  rows_of(set, label, 5, 2);  // the second file, and the third
  EXPECT_EQ(bytes_of_row(2), 4 * label.row_bytes());
}

TEST_F(Shards, NamesOfAllFilesAreFound) {
  for (const std::int64_t rows_per_block : {0, 2, 64}) {
    const auto path = write<SampleFile>(
        {{.num_samples = 2, .rows_per_block = rows_per_block, .names = {"a.png", ""}},
         {.num_samples = 1, .rows_per_block = rows_per_block, .names = {""}},
         {.num_samples = 3, .rows_per_block = rows_per_block, .names = {"", "bc", "東"}}});
    DataSet set(path);
    const std::vector<std::string> names{"a.png", "", "", "", "bc", "東"};
    for (std::int64_t i = 0; i < std::ssize(names); ++i) {
      EXPECT_EQ(read_sample_name(set, i), names[to_size(i)]) << i;
    }
    EXPECT_NO_THROW(verify(set));
  }
}

TEST_F(Shards, InputsMayHaveTheNameOfATable) {
  const auto path = write<SampleFile>({{.num_samples = 2}, {.num_samples = 3}},
                                      [](IndexFile& index) { index.identities = false; });
  for (const auto& [name, first, count] :
       {std::tuple("part-0.h5", 10, 2U), {"part-1.h5", 20, 3U}}) {
    std::vector<std::int64_t> values(count);
    std::iota(values.begin(), values.end(), first);
    raw::edit(folder_ / name, [&](hid_t file) {
      raw::dataset(file, "/inputs/offsets", H5T_STD_I64LE, {count}, values.data());
    });
  }
  DataSet set(path);
  std::vector<std::int64_t> found(5);
  set.read_rows(set.info().columns.inputs[1], 0, 5, std::as_writable_bytes(std::span(found)));
  EXPECT_EQ(found, (std::vector<std::int64_t>{10, 11, 20, 21, 22}));
}

TEST_F(Shards, ObjectsOfAllFilesAreFound) {
  ObjectFile more;
  for (Annotated& image : more.images) image.id += 1000;
  DataSet set(write<ObjectFile>({{}, more}));
  EXPECT_EQ(set.info().table("/classes/id").num_rows, 3);
  EXPECT_EQ(read_class_ids(set), (std::vector<std::int64_t>{1, 90, 17}));
  const Objects all = read_objects(set, 0, 6);
  EXPECT_EQ(all.offsets, (std::vector<std::int64_t>{0, 2, 2, 3, 5, 5, 6}));
  EXPECT_EQ(all.label, (std::vector<std::int32_t>{2, 0, 1, 2, 0, 1}));
  const Objects some = read_objects(set, 2, 2);
  EXPECT_EQ(some.offsets, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(some.label, (std::vector<std::int32_t>{1, 2, 0}));
  EXPECT_EQ(read_images(set, 2, 2).id, (std::vector<std::int64_t>{285, 1042}));
  EXPECT_NO_THROW(verify(set));
}

TEST_F(Shards, ClassesOfObjectsMustBeTheSame) {
  ObjectFile more{.class_ids = {1, 17, 90}};
  for (Annotated& image : more.images) image.id += 1000;
  const auto path = write<ObjectFile>({{}, more});
  expect_error(ErrorKind::dataset, {"part-1.h5', /classes/id differs", "Prepare all again"},
               [&] { DataSet set(path); });
}

TEST_F(Shards, IdentityIsOfTheFilesInTheirOrder) {
  const auto swap = [](IndexFile& index) { std::swap(index.shards[0], index.shards[1]); };
  const std::string one = DataSet(write(three(4))).identity();
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(DataSet(write(three(4))).identity(), one);
  EXPECT_NE(DataSet(write(three(4), swap)).identity(), one);
}

TEST_F(Shards, ClassesAreRenumberedInEachFile) {
  DataSet set(write(three(4)));
  set.renumber_classes({4, 3, 2, 1, 0}, {"a", "b", "c", "d", "e"});
  const auto rows = rows_of(set, set.info().target("label"), 4, 3);
  std::vector<std::int64_t> labels(3);
  std::ranges::copy(rows, std::as_writable_bytes(std::span(labels)).begin());
  EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 4, 4}));
}

TEST_F(Shards, AreDescribed) {
  DataSet set(write(three(4)));
  const auto lines = describe(set);
  EXPECT_THAT(lines, Contains(HasSubstr("multiclass, 15 samples, 5 classes")));
  EXPECT_THAT(lines, Contains("files: 3; storage and other attributes are those of the first"));
  EXPECT_THAT(lines, Contains(HasSubstr("part-2.h5  9 samples")));
  EXPECT_THAT(lines, Contains(HasSubstr("/inputs/image  uint8 [15, 4, 3, 3]")));
}

TEST_F(Shards, DamageNamesItsFile) {
  const auto path = write(three(4));
  const ColumnInfo label = DataSet(folder_ / "part-2.h5").info().target("label");
  spoil(folder_ / "part-2.h5", label);
  DataSet set(path);
  expect_error(ErrorKind::dataset, {"part-2.h5", "/targets/label", "rows 8..8"},
               [&] { rows_of(set, set.info().target("label"), 13, 2); });
  expect_error(ErrorKind::dataset, {"part-2.h5", "CRC-32C"}, [&] { verify(set); });
}

// An offset that leaves values of its file out would shift the names of the files behind it.
TEST_F(Shards, OffsetsOfEachFileMustUseAllItsValues) {
  const auto path = write<SampleFile>(
      {{.num_samples = 2, .names = {"ab", "cd"}}, {.num_samples = 1, .names = {"e"}}},
      [](IndexFile& index) { index.identities = false; });
  overwrite<std::int64_t>(folder_ / "part-0.h5", "/samples/name/offsets", H5T_STD_I64LE, {3},
                          {0, 2, 3});
  DataSet set(path);
  EXPECT_EQ(read_sample_name(set, 2), "e");
  expect_error(ErrorKind::dataset, {"part-0.h5", "/samples/name/offsets[2]", "= 3"},
               [&] { read_sample_name(set, 1); });
}

TEST_F(Shards, ThatDifferAreRefused) {
  const auto refused = [&](std::vector<SampleFile> files, const std::string& why) {
    const auto path = write(files);
    expect_error(ErrorKind::dataset, {"differs from the shards before it", why, ".shards.json"},
                 [&] { DataSet set(path); });
  };
  refused({{}, {.num_classes = 6}}, "num_classes 6, expected 5");
  refused({{}, {.width = 4}},
          "/inputs/image has rows of uint8 [4, 4, 3], expected uint8 [4, 3, 3]");
  refused({{.names = std::vector<std::string>(10)}, {}}, "datasets /inputs/image");
  const auto path = write<SampleFile>({{}, {}});
  raw::edit(folder_ / format("part-{}.h5", next_ - 2),
            [](hid_t file) { raw::text(file, "/inputs/image", "channels", "BGR"); });
  expect_error(ErrorKind::dataset, {"/inputs/image has HWC BGR", "expected HWC RGB"},
               [&] { DataSet set(path); });
}

TEST_F(Shards, ThatAreNotThoseOfTheIndexAreRefused) {
  const auto refused = [&](const std::string& why, const std::function<void(IndexFile&)>& change) {
    const auto path = write(three(4), change);
    expect_error(ErrorKind::dataset, {why}, [&] { DataSet set(path); });
  };
  refused("has 5 samples, the index says 4", [](IndexFile& index) {
    index.shards[0].rows = 4;
    index.num_samples = 14;
  });
  refused("the index says " + std::string(64, '0'),
          [](IndexFile& index) { index.shards[1].identity = std::string(64, '0'); });
  refused("is for the task multiclass, the index for 'binary'",
          [](IndexFile& index) { index.task = "binary"; });
  refused("gone.h5' does not exist. Check the path. It is a shard of '",
          [](IndexFile& index) { index.shards[2].file = "gone.h5"; });
}

TEST_F(Shards, OnlyTheirFilesGetChecksums) {
  const auto path = write(three(0));
  expect_error(ErrorKind::dataset, {"index of several files"},
               [&] { add_checksums(path, folder_ / "copy.h5"); });
}

}  // namespace
}  // namespace tally::data
