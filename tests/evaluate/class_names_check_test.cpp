// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/class_names_check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally::evaluate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

ClassNames result(const Names& model, const Names& data) {
  return compare_class_names(model, data).result;
}

TEST(ClassNamesCheck, SaysNothingWhereOneSideHasNoNames) {
  EXPECT_EQ(result({}, {"a", "b"}), ClassNames::unknown);
  EXPECT_EQ(result({"a", "b"}, {}), ClassNames::unknown);
  EXPECT_EQ(result({"LABEL_0", "LABEL_1"}, {"LABEL_1", "LABEL_0"}), ClassNames::unknown);
  EXPECT_EQ(result({"a", "b", "c"}, {"b", "a"}), ClassNames::unknown);
  EXPECT_THAT(compare_class_names({"label_0", "label_1"}, {"a", "b"}).text, IsEmpty());
}

TEST(ClassNamesCheck, TakesTheSameNamesInTheSameOrder) {
  const auto check = compare_class_names({"cat", "dog"}, {"cat", "dog"});
  EXPECT_EQ(check.result, ClassNames::same);
  EXPECT_THAT(check.text, IsEmpty());
}

TEST(ClassNamesCheck, NotesOtherSpellings) {
  const auto check = compare_class_names({"traffic_light", "cat"}, {"Traffic Light", "cat"});
  EXPECT_EQ(check.result, ClassNames::respelled);
  EXPECT_THAT(check.text, HasSubstr("0 is 'Traffic Light' in the data set, 'traffic_light' in"));
}

TEST(ClassNamesCheck, FindsTheSameNamesInAnotherOrder) {
  const auto check =
      compare_class_names({"apple", "Boat", "cat9", "cat10"}, {"Boat", "apple", "cat10", "cat9"});
  EXPECT_EQ(check.result, ClassNames::reordered);
  EXPECT_THAT(check.text, HasSubstr("0 'Boat' is the model's 1, 1 'apple' is the model's 0, 2 "
                                    "'cat10' is the model's 3 and 1 more"));
  // Folders that are numbers, sorted as texts.
  EXPECT_EQ(result({"0", "1", "2", "10"}, {"0", "1", "10", "2"}), ClassNames::reordered);
  EXPECT_EQ(result({"Negative", "Positive"}, {"positive", "negative"}), ClassNames::reordered);
}

TEST(ClassNamesCheck, FindsAnotherOrderAlsoWhereANameDiffers) {
  EXPECT_EQ(result({"cat", "dog", "sofa"}, {"dog", "cat", "couch"}), ClassNames::reordered);
  EXPECT_EQ(result({"cat", "dog", "sofa"}, {"cat", "dog", "couch"}), ClassNames::different);
}

TEST(ClassNamesCheck, NamesThatRepeatTellNoPlace) {
  EXPECT_EQ(result({"crane", "crane", "cat"}, {"crane", "crane", "cat"}), ClassNames::same);
  EXPECT_EQ(result({"crane", "cat", "crane"}, {"crane", "crane", "cat"}), ClassNames::different);
}

TEST(ClassNamesCheck, ComparesSynsetsWithoutTheirTitles) {
  EXPECT_EQ(result({"n01440764", "n01443537"}, {"n01440764 tench, Tinca tinca", "n01443537 gold"}),
            ClassNames::same);
  EXPECT_EQ(result({"n01443537", "n01440764"}, {"n01440764 tench", "n01443537 goldfish"}),
            ClassNames::reordered);
}

TEST(ClassesByName, NumbersTheDataSetsClassesAsTheModelDoes) {
  EXPECT_THAT(classes_by_name({"a", "b", "c", "d"}, {"D", "b"}), ElementsAre(3, 1));
  EXPECT_THAT(classes_by_name({"n01440764", "n01443537"}, {"n01443537 goldfish"}), ElementsAre(1));
}

std::string refusal(const Names& model, const Names& data) {
  try {
    classes_by_name(model, data);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    return error.what();
  }
  return "none";
}

TEST(ClassesByName, RefusesNamesThatAreNotExactlyOneClass) {
  EXPECT_THAT(refusal({"a", "b"}, {"a", "x"}), HasSubstr("not exactly one of the model's: 1 'x'"));
  EXPECT_THAT(refusal({"a", "a", "b"}, {"a", "b"}), HasSubstr("0 'a'"));
  EXPECT_THAT(refusal({"a", "b"}, {"b", "b"}), HasSubstr("0 'b', 1 'b'"));
  EXPECT_THAT(refusal({}, {"a", "b"}), HasSubstr("the model's card has no names of classes"));
  EXPECT_THAT(refusal({"a", "b"}, {"LABEL_0", "LABEL_1"}), HasSubstr("the data set has no names"));
}

}  // namespace
}  // namespace tally::evaluate
