// SPDX-License-Identifier: Apache-2.0
// What `tally inspect` says about the targets of binary, multilabel and regression.
#include <gmock/gmock.h>

#include <cmath>

#include <tally/data/describe_data_set.hpp>

#include "expect_error.hpp"
#include "target_file.hpp"

namespace tally::data {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class DescribeTargets : public testing::Test {
 protected:
  DataSet open(const TargetFile& file) {
    file.write(folder_ / file.task);
    return DataSet(folder_ / file.task);
  }
  raw::TemporaryFolder folder_;
};

TEST_F(DescribeTargets, ClassesOfBinary) {
  DataSet data_set = open(binary_file({0, 1, 1, 0, 1}));
  EXPECT_THAT(describe(data_set),
              IsSupersetOf({"labels: 2 of 2 classes occur; of these fewest 2 (class 0), most 3 "
                            "(class 1)",
                            "  class 0: 2", "  class 1: 3"}));
  EXPECT_THAT(verify(data_set), HasSubstr("all 5 rows read, labels in range"));
}

TEST_F(DescribeTargets, PositivesOfEachLabel) {
  TargetFile file = multilabel_file(3, {0, 1, 0,  //
                                        9, 1, 0,  //
                                        1, 1, 9});
  file.ignore_index = 9;
  DataSet data_set = open(file);
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("task multilabel, 3 samples, 3 labels"))));
  EXPECT_THAT(lines, IsSupersetOf({"labels: 2 of 3 labels occur; of these fewest 1 (label 0), most "
                                   "3 (label 1); 2 ignored",
                                   "  label 0: 1 positive", "  label 1: 3 positive",
                                   "  label 2: 0 positive"}));
  EXPECT_THAT(verify(data_set), HasSubstr("all 3 rows read, labels in range"));
}

TEST_F(DescribeTargets, FlagsOutOfRangeAreListed) {
  std::vector<std::uint8_t> flags(30, 1);
  for (std::size_t i = 7; i < 20; ++i) flags[i] = 5;
  DataSet data_set = open(multilabel_file(2, flags));
  const auto lines = describe(data_set);
  EXPECT_THAT(lines,
              IsSupersetOf({"labels out of range: 13", "  /targets/label[3, 1] = 5, expected 0..1",
                            "  /targets/label[8, 0] = 5, expected 0..1", "  … and 3 more"}));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("[8, 1] = 5"))));
  expect_error(ErrorKind::dataset, {"/targets/label[3, 1]", "= 5"}, [&] { verify(data_set); });
}

TEST_F(DescribeTargets, RangeAndMeanOfEachOutput) {
  TargetFile file = regression_file(2, {1, -0.5F,  //
                                        2, 0.25F,  //
                                        6, 1e30F});
  DataSet data_set = open(file);
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(HasSubstr("task regression, 3 samples, 2 outputs")));
  EXPECT_THAT(lines,
              IsSupersetOf({"targets: 2 outputs per sample", "  output 0: min 1, mean 3, max 6",
                            "  output 1: min -0.5, mean 3.33333e+29, max 1e+30"}));
  EXPECT_THAT(verify(data_set), HasSubstr("all 3 rows read, targets finite"));
}

TEST_F(DescribeTargets, ValuesThatAreNotFiniteAreListedAndLeftOut) {
  DataSet data_set = open(regression_file(2, {1, INFINITY, std::nanf(""), -INFINITY, 3, INFINITY}));
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, IsSupersetOf({"  output 0: min 1, mean 2, max 3",
                                   "  output 1: no finite value", "targets that are not finite: 4",
                                   "  /targets/label[0, 1] = inf, expected finite numbers",
                                   "  /targets/label[1, 0] = nan, expected finite numbers"}));
  expect_error(ErrorKind::dataset, {"/targets/label[0, 1] = inf"}, [&] { verify(data_set); });
}

TEST_F(DescribeTargets, PixelsOfMapsThatAreScored) {
  TargetFile file = regression_file(1, {1, 2, NAN, 4, -5.5F, NAN});
  file.dims = {2, 1, 3};
  DataSet data_set = open(file);
  EXPECT_THAT(describe(data_set),
              IsSupersetOf({"targets: a map of 1 output per sample; 4 pixels scored, 2 not",
                            "  output 0: min -5.5, mean 0.375, max 4"}));
}

TEST_F(DescribeTargets, ManyOutputsAreBounded) {
  DataSet data_set = open(regression_file(1000, std::vector<float>(2000, 0.5F)));
  const auto lines = describe(data_set);
  EXPECT_LT(lines.size(), 40U);
  EXPECT_THAT(
      lines, IsSupersetOf({"  output 19: min 0.5, mean 0.5, max 0.5", "  … and 980 more outputs"}));
}

TEST_F(DescribeTargets, ManyLabelsAreBounded) {
  DataSet data_set = open(multilabel_file(1000, std::vector<std::uint8_t>(2000, 1)));
  const auto lines = describe(data_set);
  EXPECT_LT(lines.size(), 40U);
  EXPECT_THAT(lines, IsSupersetOf({"  label 19: 2 positive", "  … and 980 more labels"}));
}

}  // namespace
}  // namespace tally::data
