// SPDX-License-Identifier: Apache-2.0
// Labels of a data set whose classes are given other numbers.
#include <gmock/gmock.h>

#include <cstring>

#include <tally/data/column_values.hpp>
#include <tally/data/data_set.hpp>

#include "expect_error.hpp"
#include "sample_file.hpp"
#include "target_file.hpp"
#include "token_file.hpp"

namespace tally::data {
namespace {

using testing::ElementsAre;

class RenumberedClassesTest : public testing::Test {
 protected:
  template <class File>
  DataSet open(const File& file) {
    const auto path = folder_ / std::to_string(next_++);
    file.write(path);
    return DataSet(path);
  }
  template <class T>
  std::vector<T> labels(DataSet& set) {
    const auto rows = rows_of(set, set.info().target("label"), 0, set.info().num_samples);
    std::vector<T> values(rows.size() / sizeof(T));
    std::memcpy(values.data(), rows.data(), rows.size());
    return values;
  }

  raw::TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(RenumberedClassesTest, AreThoseOfTheLabels) {
  DataSet set = open(SampleFile{.num_samples = 6, .num_classes = 3});
  const auto identity = set.identity();
  set.renumber_classes({4, 0, 2}, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(set.info().num_classes, 5);
  EXPECT_THAT(set.info().class_names, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(labels<std::int64_t>(set), ElementsAre(4, 0, 2, 4, 0, 2));
  EXPECT_EQ(set.identity(), identity) << "the file is the same";
}

TEST_F(RenumberedClassesTest, AreThoseOfPixelsToo) {
  DataSet set = open(mask_file({0, 1, 255, 2}));
  set.renumber_classes({2, 1, 0}, {"a", "b", "c"});
  EXPECT_THAT(labels<std::int16_t>(set), ElementsAre(2, 1, 255, 0)) << "255 is ignored";
}

TEST_F(RenumberedClassesTest, ChangePlacesWhereASampleHasSeveralLabels) {
  DataSet set = open(multilabel_file(3, {1, 0, 0, 0, 1, 1}));
  set.renumber_classes({2, 0, 1}, {"a", "b", "c"});
  EXPECT_THAT(labels<std::uint8_t>(set), ElementsAre(0, 0, 1, 1, 1, 0));
}

TEST_F(RenumberedClassesTest, AreThoseOfTokensToo) {
  const TokenFile file = tag_file();
  auto expected = file.labels();
  for (auto& label : expected) label = label == file.ignore_index ? label : 2 - label;
  DataSet set = open(file);
  set.renumber_classes({2, 1, 0}, {"a", "b", "c"});
  EXPECT_EQ(labels<std::int64_t>(set), expected);
}

TEST_F(RenumberedClassesTest, TheFilesOwnNumbersAreChecked) {
  auto file = binary_file({0, 1, 2});
  DataSet set = open(file);
  set.renumber_classes({1, 0}, {"a", "b", "c"});
  expect_error(ErrorKind::dataset, {"/targets/label[2] = 2, expected 0..1"},
               [&] { labels<std::int64_t>(set); });
}

TEST_F(RenumberedClassesTest, AreRefusedWhereLabelsCannotHoldThem) {
  const auto refuse = [&](const TargetFile& file, std::vector<std::int64_t> numbers,
                          std::size_t count, const char* why) {
    DataSet set = open(file);
    expect_error(ErrorKind::dataset, {"its classes cannot be renumbered", why},
                 [&] { set.renumber_classes(numbers, std::vector<std::string>(count)); });
  };
  refuse(mask_file({0, 1, 255, 2}), {0, 255, 1}, 300, "its ignore_index 255 is a class");
  refuse(mask_file({0, 1, 255, 2}), {0, 1, 2}, 40'000, "int16 has no room for 40000 classes");
  refuse(multilabel_file(2, {1, 0}), {0, 2}, 3, "it has 2 labels, the model 3");
  refuse(regression_file(1, {1, 2}), {0}, 1, "that is not possible for the task regression");
}

}  // namespace
}  // namespace tally::data
