// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include <tally/base/files.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t num_files(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AddChecksums, WritesACheckedCopyOfTheSameRows) {
  for (const auto storage :
       {SampleStorage::contiguous, SampleStorage::chunked, SampleStorage::deflated}) {
    const raw::TemporaryFolder folder;
    const SampleFile sample{.num_samples = 150, .storage = storage};
    sample.write(folder / "a.h5");
    const std::string before = content(folder / "a.h5");
    add_checksums(folder / "a.h5", folder / "b.h5");
    EXPECT_EQ(content(folder / "a.h5"), before);
    EXPECT_EQ(num_files(folder.path()), 2U);

    DataSet copy(folder / "b.h5");
    EXPECT_TRUE(copy.info().checksums.columns);
    EXPECT_EQ(copy.info().columns.inputs[0].rows_per_checksum, 64);
    EXPECT_EQ(copy.info().class_names.size(), 5U);
    const auto rows = rows_of(copy, copy.info().columns.inputs[0], 0, 150);
    const auto images = sample.images();
    EXPECT_TRUE(std::ranges::equal(rows, std::as_bytes(std::span(images))));
  }
}

TEST(AddChecksums, LargeRowsGetSmallBlocks) {
  const raw::TemporaryFolder folder;
  SampleFile{.num_samples = 9, .height = 300, .width = 400}.write(folder / "a.h5");
  add_checksums(folder / "a.h5", folder / "b.h5");
  EXPECT_EQ(DataSet(folder / "b.h5").info().columns.inputs[0].rows_per_checksum,
            2);  // 352 KiB each
}

TEST(AddChecksums, KeepsTheTablesThatAreThere) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 3}.write(folder / "a.h5");
  raw::edit(folder / "a.h5", [](hid_t file) { raw::remove(file, "/checksums/targets/label"); });
  add_checksums(folder / "a.h5", folder / "b.h5");
  const DataSet copy(folder / "b.h5");
  EXPECT_EQ(copy.info().columns.inputs[0].rows_per_checksum, 3);
  EXPECT_EQ(copy.info().columns.targets[0].rows_per_checksum, 64);
  EXPECT_TRUE(copy.info().checksums.columns);
}

TEST(AddChecksums, AnUnwritableSourceCanBeCopied) {
  const raw::TemporaryFolder folder;
  SampleFile().write(folder / "a.h5");
  fs::permissions(folder / "a.h5", fs::perms::owner_read, fs::perm_options::replace);
  add_checksums(folder / "a.h5", folder / "b.h5");
  EXPECT_TRUE(DataSet(folder / "b.h5").info().checksums.columns);
}

TEST(AddChecksums, ALinkWhereTheCopyBeginsStaysAndIsNotFollowed) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "a.h5");
  for (const char* leads_to : {"a.h5", "gone"}) {
    const fs::path link = partial_path(folder / "b.h5");
    fs::create_symlink(folder / leads_to, link);
    expect_error(ErrorKind::output, {"cannot write", "b.h5.partial-"},
                 [&] { add_checksums(folder / "a.h5", folder / "b.h5"); });
    EXPECT_TRUE(fs::is_symlink(link)) << leads_to;
    fs::remove(link);
  }
  EXPECT_EQ(num_files(folder.path()), 1U);
}

TEST(AddChecksums, RefusesAndLeavesNothing) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "a.h5");
  expect_error(ErrorKind::output, {"a.h5' exists already"},
               [&] { add_checksums(folder / "a.h5", folder / "a.h5"); });
  expect_error(ErrorKind::dataset, {"none.h5' does not exist"},
               [&] { add_checksums(folder / "none.h5", folder / "b.h5"); });
  expect_error(ErrorKind::output, {"cannot write"},
               [&] { add_checksums(folder / "a.h5", folder / "none" / "b.h5"); });
  // Damage in a column that has a table is found, not covered by a new one.
  raw::edit(folder / "a.h5", [](hid_t file) {
    const hid_t id = raw::ok(H5Dopen2(file, "/inputs/image", H5P_DEFAULT));
    const std::vector<std::uint8_t> zeros(10 * 36);
    raw::ok(H5Dwrite(id, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()));
    H5Dclose(id);
  });
  expect_error(ErrorKind::dataset, {"/inputs/image rows 0..3"},
               [&] { add_checksums(folder / "a.h5", folder / "b.h5"); });
  EXPECT_EQ(num_files(folder.path()), 1U);
}

}  // namespace
}  // namespace tally::data
