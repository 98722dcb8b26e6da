// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include <tally/data/data_set.hpp>
#include <tally/data/row_source.hpp>
#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

// Clocks of file systems tick slowly: a write that follows at once must not look like the first.
void make_old(const std::filesystem::path& path) {
  const timespec old[] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
}

// Another pixel in its place.
void change_a_pixel(const std::filesystem::path& path) {
  const std::int64_t at = hdf5::Reader(path).dataset("/inputs/image").info().offset;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put('x');
}

class Rewritten : public testing::Test {
 protected:
  Rewritten() {
    SampleFile{}.write(path_);
    make_old(path_);
  }
  void refused(const DataSet& data_set, const std::string& name) {
    expect_error(ErrorKind::dataset, {name, "changed while it was read"},
                 [&] { data_set.require_unchanged(); });
  }
  raw::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "a.h5";
};

TEST_F(Rewritten, WithoutChecksumsItIsFoundAtTheEnd) {
  DataSet data_set(path_);
  const auto before = rows_of(data_set, data_set.info().columns.inputs[0], 0, 10);
  EXPECT_NO_THROW(data_set.require_unchanged());
  change_a_pixel(path_);
  EXPECT_NE(rows_of(data_set, data_set.info().columns.inputs[0], 0, 10), before);
  refused(data_set, "data set '");
}

TEST_F(Rewritten, ItIsWhatIsWrongWithRowsThatCannotBeRead) {
  SampleFile{.rows_per_block = 4}.write(folder_ / "b.h5");
  make_old(folder_ / "b.h5");
  DataSet data_set(folder_ / "b.h5");
  change_a_pixel(folder_ / "b.h5");
  expect_error(ErrorKind::dataset, {"b.h5' changed while it was read"},
               [&] { rows_of(data_set, data_set.info().columns.inputs[0], 0, 10); });
  // Opened after that it is damaged.
  DataSet damaged(folder_ / "b.h5");
  expect_error(ErrorKind::dataset, {"rows 0..3 have the CRC-32C"},
               [&] { rows_of(damaged, damaged.info().columns.inputs[0], 0, 10); });
}

TEST_F(Rewritten, AlsoWhereRowsWereCopiedBefore) {
  DataSet data_set(path_);
  data_set.stage({0, 10}, folder_.path());
  change_a_pixel(path_);
  refused(data_set, "a.h5'");
}

TEST_F(Rewritten, TheFileOfAnotherInputCounts) {
  raw::create(folder_ / "scores.h5", [](hid_t file) {
    const std::vector<float> scores(50);
    raw::dataset(file, "/inputs/image", H5T_IEEE_F32LE, {10, 5}, scores.data());
  });
  make_old(folder_ / "scores.h5");
  const DataSet data_set(path_, {.rows = hdf5_rows(folder_ / "scores.h5", "/inputs/image")});
  EXPECT_NO_THROW(data_set.require_unchanged());
  change_a_pixel(folder_ / "scores.h5");
  refused(data_set, "predictions file '");
}

TEST_F(Rewritten, AnotherFileUnderItsNameIsNoChange) {
  DataSet data_set(path_);
  const auto before = rows_of(data_set, data_set.info().columns.inputs[0], 0, 10);
  SampleFile{.num_samples = 9}.write(folder_ / "b.h5");
  std::filesystem::rename(folder_ / "b.h5", path_);
  EXPECT_EQ(rows_of(data_set, data_set.info().columns.inputs[0], 0, 10), before);
  EXPECT_NO_THROW(data_set.require_unchanged());
}

}  // namespace
}  // namespace tally::data
