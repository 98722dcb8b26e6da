// SPDX-License-Identifier: Apache-2.0
// What is known of several files as one data set, and what they must have in common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include <tally/base/format.hpp>

#include "expect_error.hpp"
#include "shards/shards_fixture.hpp"

namespace tally::data {
namespace {

using testing::HasSubstr;

TEST_F(Shards, SamplesAreThoseOfTheFilesInTheirOrder) {
  const std::vector<SampleFile> files{{.num_samples = 2, .rows_per_block = 2, .names = {"a", "b"}},
                                      {.num_samples = 1, .rows_per_block = 2, .names = {"c"}}};
  const auto swap = [](IndexFile& index) { std::swap(index.shards[0], index.shards[1]); };
  const auto one = DataSet(write(files)).sample_identity();
  ASSERT_TRUE(one);
  EXPECT_EQ(DataSet(write(files)).sample_identity(), one);
  EXPECT_NE(DataSet(write(files, swap)).sample_identity(), one);
  EXPECT_FALSE(DataSet(write(three(0))).sample_identity()) << "files without names";
}

TEST_F(Shards, AFileThatChangesChangesTheStamp) {
  const auto path = write(three(4));
  const std::string before = DataSet(path).stamp();
  EXPECT_THAT(before, HasSubstr("3 files whose stamps have the SHA-256 "));
  raw::edit(folder_ / "part-1.h5", [](hid_t file) { raw::text(file, "/", "note", "new"); });
  EXPECT_NE(DataSet(path).stamp(), before);
}

TEST_F(Shards, RowsBeyondTheLastAreADefect) {
  DataSet set(write(three(4)));
  expect_error(ErrorKind::internal, {"rows 14 + 2 of /targets/label"},
               [&] { rows_of(set, set.info().target("label"), 14, 2); });
}

TEST_F(Shards, ThatWereChangedDifferentlyAreRefused) {
  const auto refused = [&](const std::function<void(hid_t)>& change, const std::string& why) {
    const auto path = write<SampleFile>({{}, {}});
    raw::edit(folder_ / format("part-{}.h5", next_ - 2), change);
    expect_error(ErrorKind::dataset, {why}, [&] { DataSet set(path); });
  };
  refused([](hid_t file) { raw::remove(file, "/class_names"); },
          "it has 0 class names, expected 5");
  refused(
      [](hid_t file) {
        const std::int64_t none = -100;
        raw::attribute(file, "/", "ignore_index", H5T_STD_I64LE, {}, &none);
      },
      "ignore_index -100, expected none");
}

}  // namespace
}  // namespace tally::data
