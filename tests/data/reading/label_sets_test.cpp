// SPDX-License-Identifier: Apache-2.0
// Several right classes of a sample: what is read, and what is refused.
#include <tally/data/label_sets.hpp>

#include <gmock/gmock.h>

#include <tally/data/describe_data_set.hpp>

#include "expect_error.hpp"
#include "sample_file.hpp"
#include "target_file.hpp"

namespace tally::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LabelSetsTest : public testing::Test {
 protected:
  // Four samples of five classes.
  DataSet open(const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& classes) {
    const auto path = folder_ / std::to_string(next_++);
    SampleFile{.num_samples = 4}.write(path);
    raw::edit(path, [&](hid_t file) {
      raw::dataset(file, "/targets/labels/offsets", H5T_STD_I64LE, {offsets.size()},
                   offsets.data());
      raw::dataset(file, "/targets/labels/values", H5T_STD_I64LE, {classes.size()}, classes.data());
    });
    return DataSet(path);
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(LabelSetsTest, AreOptional) {
  SampleFile{}.write(folder_ / "none");
  EXPECT_FALSE(has_label_sets(DataSet(folder_ / "none").info()));
}

TEST_F(LabelSetsTest, AreReadRowByRow) {
  DataSet set = open({0, 2, 2, 3, 6}, {4, 1, 0, 3, 2, 1});
  ASSERT_TRUE(has_label_sets(set.info()));
  const LabelSets sets = read_label_sets(set, 4);
  EXPECT_THAT(sets.of(0), ElementsAre(4, 1));
  EXPECT_THAT(sets.of(1), IsEmpty());
  EXPECT_THAT(sets.of(3), ElementsAre(3, 2, 1));
  EXPECT_THAT(read_label_sets(set, 2).offsets, ElementsAre(0, 2, 2));
  verify(set);
}

TEST_F(LabelSetsTest, WhatBreaksTheRulesIsRefused) {
  const auto refuse = [&](const std::vector<std::int64_t>& offsets,
                          const std::vector<std::int64_t>& classes, const char* object,
                          const char* why) {
    expect_error(ErrorKind::dataset, {object, why}, [&] {
      DataSet set = open(offsets, classes);
      read_label_sets(set, 4);
    });
  };
  refuse({0, 1, 1, 1, 2}, {0, 5}, "/targets/labels/values[1]", "= 5, expected 0 to 4");
  refuse({0, 1, 1, 1, 2}, {0, -1}, "/targets/labels/values[1]", "= -1");
  refuse({0, 1, 1, 1, 3}, {0, 2, 2}, "/targets/labels[3]", "has class 2 twice");
  refuse({0, 1, 1, 2}, {0, 2}, "/targets/labels/offsets", "has shape [4], expected [5]");
  refuse({0, 1, 0, 1, 2}, {0, 2}, "/targets/labels/offsets", "");
  refuse({0, 1, 1, 1, 9}, {0, 2}, "/targets/labels/offsets", "");
}

TEST_F(LabelSetsTest, KeepTheNumbersOfTheirClasses) {
  DataSet set = open({0, 2, 2, 3, 6}, {4, 1, 0, 3, 2, 1});
  expect_error(ErrorKind::dataset, {"its classes cannot be renumbered", "several may be right"},
               [&] {
                 set.renumber_classes({4, 3, 2, 1, 0}, std::vector<std::string>(5));
               });
}

}  // namespace
}  // namespace tally::data
