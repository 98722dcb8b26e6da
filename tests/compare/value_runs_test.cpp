// SPDX-License-Identifier: Apache-2.0
// Two regressions read from their files: figures by hand, the largest changes, damaged rows.
#include <gmock/gmock.h>

#include "expect_error.hpp"
#include "regression_pair.hpp"
#include "run_file.hpp"

namespace tally::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Four samples of two outputs. Distances of A from the targets: 1 0, 0 0, 2 0, 0 2; of B: 0 0, 1 0,
// 1 1, 0 0.
class ValueRunsTest : public RunFilesTest {
 protected:
  ValueRunsTest() {
    for (RunFile* run : {&a_, &b_}) {
      run->column<std::int64_t>("index", {2, 3, 5, 8});
      run->column<float>("label", {0, 0, 1, 2, 3, 1, 2, 2}, {2});
    }
    a_.column<float>("prediction", {1, 0, 1, 2, 5, 1, 2, 0}, {2});
    b_.column<float>("prediction", {0, 0, 2, 2, 4, 2, 2, 2}, {2});
  }
  Comparison compare_by(const std::vector<std::string>& names) {
    return compare(a_, b_, {.metrics = names, .replicates = 20});
  }

  RunFile a_{"regression", 2}, b_{"regression", 2};
};

void expect_values(const Comparison& comparison, const std::string& name, double a, double b) {
  EXPECT_NEAR(metric_of(comparison, name).a.value(), a, 1e-12) << name;
  EXPECT_NEAR(metric_of(comparison, name).b.value(), b, 1e-12) << name;
}

TEST_F(ValueRunsTest, FiguresByHand) {
  const Comparison found = compare_by({});
  EXPECT_EQ(found.task, "regression");
  EXPECT_FALSE(found.outcomes);
  EXPECT_EQ(found.samples.ignored, 0);
  expect_values(found, "mse", 9.0 / 8, 3.0 / 8);
  expect_values(found, "mae", 5.0 / 8, 3.0 / 8);
  expect_values(found, "rmse", std::sqrt(9.0 / 8), std::sqrt(3.0 / 8));
  EXPECT_EQ(metric_of(found, "mse").interval->method, "bootstrap");
  EXPECT_EQ(conclude(found).metric, "mse");
  EXPECT_THAT(found.left_out, IsEmpty());
}

TEST_F(ValueRunsTest, TheLargestChangesComeFirst) {
  const auto changes = std::get<ValueChanges>(compare_by({"mse"}).changes);
  EXPECT_EQ(changes.closer, 2);
  EXPECT_EQ(changes.farther, 1) << "a sample that is as far off as before is no change";
  ASSERT_EQ(changes.first.size(), 3U);
  EXPECT_EQ(changes.first[0].index, 8);
  EXPECT_THAT(changes.first[0].targets, ElementsAre(2, 2));
  EXPECT_THAT(changes.first[0].a.values, ElementsAre(2, 0));
  EXPECT_EQ(changes.first[0].a.error, 1);
  EXPECT_EQ(changes.first[0].b.error, 0);
  EXPECT_EQ(changes.first[0].change(), -1);
  EXPECT_EQ(changes.first[1].index, 2) << "equal sizes are in the order of the samples";
  EXPECT_EQ(changes.first[2].index, 3);
}

TEST_F(ValueRunsTest, OneOutputIsAColumnOfNumbers) {
  RunFile a("regression", 1), b("regression", 1);
  for (RunFile* run : {&a, &b}) {
    run->column<std::int64_t>("index", {0, 1, 2}).column<float>("label", {1, 2, 4});
  }
  a.column<float>("prediction", {1, 2, 3});
  b.column<float>("prediction", {2, 1, 3});
  const Comparison found = compare(a, b, {.metrics = {"mae", "spearman"}, .replicates = 20});
  expect_values(found, "mae", 1.0 / 3, 1);
  expect_values(found, "spearman", 1, 0.5);  // 1 - 6 (1 + 1) / (3 (9 - 1))
}

TEST_F(ValueRunsTest, APredictionThatIsNotFiniteIsAsFarOffAsCanBe) {
  b_.column<float>("prediction", {0, kNan, 2, 2, 4, 2, 2, 2}, {2});
  const Comparison found = compare_by({"mse"});
  expect_values(found, "mse", 9.0 / 8, 3.0 / 6);
  EXPECT_FALSE(metric_of(found, "mse").of_same_samples);
  EXPECT_FALSE(metric_of(found, "mse").better());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("outputs of 0 samples in A and 1 in B are NaN")));
  const auto changes = std::get<ValueChanges>(found.changes);
  EXPECT_EQ(changes.first[0].index, 2);
  EXPECT_EQ(changes.first[0].b.error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(changes.farther, 2);
}

TEST_F(ValueRunsTest, ARunThatIsCloserEverywhereIsBetter) {
  std::vector<std::int64_t> index(50);
  std::vector<float> near(50), far(50);
  for (std::size_t i = 0; i < index.size(); ++i) {
    index[i] = static_cast<std::int64_t>(i);
    near[i] = static_cast<float>(i % 3);
    far[i] = near[i] + 1;
  }
  RunFile a("regression", 1), b("regression", 1);
  for (RunFile* run : {&a, &b}) {
    run->column("index", index).column("label", std::vector<float>(50, 0));
  }
  a.column("prediction", far);
  b.column("prediction", near);
  const Conclusion found = conclude(compare(a, b, {.metrics = {"mse"}, .replicates = 100}));
  EXPECT_EQ(found.better, Side::b);
  EXPECT_THAT(found.sentence, HasSubstr("B is better than A: mse "));
}

TEST_F(ValueRunsTest, TargetsThatAreEqualAreTheSame) {
  b_.column<float>("label", {-0.0F, 0, 1, 2, 3, 1, 2, 2}, {2});
  expect_values(compare_by({"mse"}), "mse", 9.0 / 8, 3.0 / 8);
}

const std::vector<Refusal> kDamages{
    {"NaNTarget",
     [](RunFile& run) {
       run.column<float>("label", {0, 0, 1, kNan, 3, 1, 2, 2}, {2});
     },
     "/label[1] = nan, expected a finite number. The file is damaged: evaluate again."},
    {"OtherTarget",
     [](RunFile& run) {
       run.column<float>("label", {0, 0, 1, 9.5F, 3, 1, 2, 2}, {2});
     },
     "differ in the labels: /label[1] has 2 and 9.5. Evaluate both models on one data set."},
    {"FewerOutputs",
     [](RunFile& run) {
       run.column<float>("prediction", {0, 0, 0, 0}, {1});
     },
     "/prediction is [4, 1], expected [4, 2]"},
    {"OtherOutputs", [](RunFile& run) { run.attribute("num_classes", "3"); },
     "differ in num_classes or ignore_index"},
    {"NoPrediction", [](RunFile& run) { run.without("prediction"); },
     "has no column 'prediction'. Evaluate again with --save labels."},
    {"Wide",
     [](RunFile& run) {
       run.column<double>("prediction", {0, 0, 0, 0, 0, 0, 0, 0}, {2});
     },
     "float64"},
};

class DamagedValueRunTest : public ValueRunsTest, public testing::WithParamInterface<Refusal> {};

TEST_P(DamagedValueRunTest, IsRefused) {
  GetParam().spoil(b_);
  EXPECT_THAT(refusal_of(a_, b_), HasSubstr(GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(Damages, DamagedValueRunTest, testing::ValuesIn(kDamages), case_name);

TEST_F(ValueRunsTest, MapsAreRefused) {
  a_.column<std::int64_t>("pixels", {4, 4, 4, 4});
  EXPECT_THAT(refusal_of(a_, b_, ErrorKind::usage),
              HasSubstr("is a regression whose values are pixels, which are not compared"));
}

TEST(RegressionPair, WantsAsManyValuesOfEach) {
  expect_error(ErrorKind::internal, {"unequal length"}, [] {
    RegressionPair({.task = "regression", .num_classes = 2},
                   {.indices = {0}, .targets = {1, 2}, .a = {1, 2}, .b = {1}});
  });
}

}  // namespace
}  // namespace tally::compare
