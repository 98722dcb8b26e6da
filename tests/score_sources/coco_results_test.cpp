// SPDX-License-Identifier: Apache-2.0
// COCO's results read as a stream: entries in every form that is allowed, and hostile files.
#include "coco_results.hpp"

#include <fstream>
#include <stdexcept>

#include <tally/base/format.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string entry(const std::string& image, const std::string& category, const std::string& box,
                  const std::string& score) {
  return format(R"({{"image_id": {}, "category_id": {}, "bbox": {}, "score": {}}})", image,
                category, box, score);
}

const std::string kGood = entry("7", "1", "[0, 0, 1, 1]", "1");
const std::string kTwo = "[" + kGood + ", " + entry("8", "2", "[1, 2.5, 3, 4]", "0.5") + "]";

class CocoResultsTest : public testing::Test {
 protected:
  // Image, category, box and score of each entry; those before a failure stay in `taken_`.
  const std::vector<std::string>& read(const std::string& text,
                                       const std::string& name = "results.json") {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    taken_.clear();
    read_coco_results(folder_ / name, [&](const CocoResult& one) {
      EXPECT_TRUE(std::ranges::all_of(one.box, [](double x) { return std::isfinite(x); }));
      EXPECT_TRUE(std::isfinite(one.score));
      taken_.push_back(
          format("{} {} {} {}", one.image_id, one.category_id, fmt::join(one.box, " "), one.score));
    });
    return taken_;
  }

  raw::TemporaryFolder folder_;
  std::vector<std::string> taken_;
};

TEST_F(CocoResultsTest, EntriesComeInTheirOrder) {
  EXPECT_THAT(read(kTwo), ElementsAre("7 1 0 0 1 1 1", "8 2 1 2.5 3 4 0.5"));
  EXPECT_THAT(read(" [ ] \n"), IsEmpty());
}

TEST_F(CocoResultsTest, FieldsStandInAnyOrderAndOthersArePassedOver) {
  EXPECT_THAT(read(R"([{"score": -2e-3, "id": 3, "bbox": [1.5, -2, 30, 4e1], "image_id": 139,
                "segmentation": {"bbox": [1], "score": "x", "size": [[1], [{"image_id": 4}]]},
                "area": null, "iscrowd": false, "category_id": 90, "caption": "[{"}])"),
              ElementsAre("139 90 1.5 -2 30 40 -0.002"));
}

TEST_F(CocoResultsTest, IdsAreAllThatAnInteger64Holds) {
  const std::string text = "[" + entry("9223372036854775807", "-1", "[0, 0, 0, 0]", "0") + "]";
  EXPECT_THAT(read(text), ElementsAre("9223372036854775807 -1 0 0 0 0 0"));
}

// As Python's reader has it, with which COCO's own tools read.
TEST_F(CocoResultsTest, OfAFieldThatIsGivenTwiceTheLastOneCounts) {
  EXPECT_THAT(read(R"([{"image_id": 1, "score": 0.5, "bbox": [9, 9, 9, 9], "category_id": 3,
                        "bbox": [1, 2, 3, 4], "image_id": 2, "score": 0.75}])"),
              ElementsAre("2 3 1 2 3 4 0.75"));
}

TEST_F(CocoResultsTest, NothingIsLeftOfTheEntryBefore) {
  expect_error(ErrorKind::dataset, {"has at entry 1 no score"}, [&] {
    read("[" + kGood + R"(, {"image_id": 7, "category_id": 1, "bbox": [0, 0, 1, 1]}])");
  });
  EXPECT_THAT(taken_, ElementsAre("7 1 0 0 1 1 1"));
}

TEST_F(CocoResultsTest, NestingIsAsDeepAsItLikes) {
  constexpr std::size_t kDepth = 100000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  EXPECT_THAT(read(R"([{"segmentation": )" + deep + ", " + kGood.substr(1) + "]"),
              ElementsAre("7 1 0 0 1 1 1"));
}

TEST_F(CocoResultsTest, EveryFileThatIsCutIsRefused) {
  read(kTwo);
  const auto all = taken_;
  for (std::size_t length = 0; length < kTwo.size(); ++length) {
    expect_error(ErrorKind::dataset, {"is no JSON at byte"}, [&] { read(kTwo.substr(0, length)); });
    ASSERT_LE(taken_.size(), all.size());
    EXPECT_TRUE(std::equal(taken_.begin(), taken_.end(), all.begin())) << length;
  }
}

TEST_F(CocoResultsTest, WhatTheTakerThrowsComesOut) {
  std::ofstream(folder_ / "two.json") << kTwo;
  EXPECT_THROW(read_coco_results(folder_ / "two.json",
                                 [](const CocoResult&) { throw std::length_error("full"); }),
               std::length_error);
}

TEST_F(CocoResultsTest, ANameCannotSteerATerminal) {
  expect_error(ErrorKind::dataset, {R"(a\x0a\x1b[2Jb.json' is no list of results)"},
               [&] { read("{}", "a\n\x1b[2Jb.json"); });
}

struct Refused {
  const char* name;
  std::string text;
  std::string says;
};

class RefusedResultsTest : public CocoResultsTest, public testing::WithParamInterface<Refused> {};

TEST_P(RefusedResultsTest, SayWhatIsWrongAndWhatWasExpected) {
  expect_error(ErrorKind::dataset,
               {"predictions file '", "results.json' " + GetParam().says,
                R"(Expected COCO's results, [{"image_id", "category_id", "bbox")"},
               [&] { read(GetParam().text); });
}

INSTANTIATE_TEST_SUITE_P(
    Form, RefusedResultsTest,
    testing::Values(Refused{"Object", "{}", "is no list of results."},
                    Refused{"Number", "3", "is no list of results."},
                    Refused{"Null", "null", "is no list of results."},
                    Refused{"Text", R"("[]")", "is no list of results."},
                    Refused{"ListOfLists", "[[]]", "is no list of results."},
                    Refused{"ListOfNumbers", "[3]", "is no list of results."},
                    Refused{"ObjectWithAList", R"({"annotations": []})", "is no list of results."},
                    Refused{"NotANumberAlone", "[" + kGood + ", 4]", "is no list of results."},
                    Refused{"Nothing", "", "is no JSON at byte"},
                    Refused{"Words", "score,box", "is no JSON at byte"},
                    Refused{"TwoLists", "[][]", "is no JSON at byte"},
                    Refused{"ZeroByte", "[" + kGood + std::string(1, '\0') + "]",
                            "is no JSON at byte"},
                    Refused{"NanIsNoJson", "[" + entry("7", "1", "[0, 0, 1, 1]", "NaN") + "]",
                            "is no JSON at byte"}),
    [](const auto& tested) { return tested.param.name; });

// What stands for a field of the entry behind a good one.
Refused field(const char* name, const std::string& text, const std::string& says) {
  return {name, "[" + kGood + ", " + text + "]", "has at entry 1 " + says + "."};
}
Refused box(const char* name, const std::string& text) {
  return field(name, entry("7", "1", text, "1"), "no bbox of four numbers");
}
Refused score(const char* name, const std::string& text, const std::string& says) {
  return field(name, entry("7", "1", "[0, 0, 1, 1]", text), says);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, RefusedResultsTest,
    testing::Values(
        field("NoFields", "{}", "no image_id"),
        field("FractionAsImage", entry("7.0", "1", "[0, 0, 1, 1]", "1"), "no image_id"),
        field("TextAsImage", entry(R"("7")", "1", "[0, 0, 1, 1]", "1"), "no image_id"),
        field("ImageInAList", entry("[7]", "1", "[0, 0, 1, 1]", "1"), "no image_id"),
        field("ImageBehindInteger64", entry("9223372036854775808", "1", "[0, 0, 1, 1]", "1"),
              "no image_id"),
        field("NoCategory", R"({"image_id": 7, "bbox": [0, 0, 1, 1], "score": 1})",
              "no category_id"),
        field("NoBox", R"({"image_id": 7, "category_id": 1, "score": 1})",
              "no bbox of four numbers"),
        // Behind the box a fifth number must not get: this one has the bits of the integer 4.
        box("BoxOfFiveWithATinyLast", "[1, 2, 3, 4, 2e-323]"), box("BoxOfThree", "[1, 2, 3]"),
        box("BoxOfFive", "[1, 2, 3, 4, 5]"), box("BoxWithNull", "[1, 2, 3, null]"),
        box("BoxWithText", R"([1, 2, 3, "4"])"), box("BoxWithAList", "[1, 2, 3, 4, []]"),
        box("BoxWithAnObject", "[1, 2, 3, {}]"),
        box("BoxAsObject", R"({"x": 1, "y": 1, "width": 1, "height": 1})"), box("BoxAsNumber", "3"),
        box("SecondBoxOfOne", "[1, 2, 3, 4], \"bbox\": [5]"),
        score("NullAsScore", "null", "a score that is no number"),
        score("TextAsScore", R"("1")", "a score that is no number"),
        score("TruthAsScore", "true", "a score that is no number"),
        score("ScoreInAList", "[1]", "no score")),
    [](const auto& tested) { return tested.param.name; });

TEST_F(CocoResultsTest, NumbersThatNoDoubleHoldsAreRefused) {
  const std::string says = "a number that no double can hold";
  expect_error(ErrorKind::dataset, {"has at byte ", says},
               [&] { read("[" + entry("7", "1", "[0, 0, 1, 1]", "1e999") + "]"); });
  expect_error(ErrorKind::dataset, {"has at byte ", says},
               [&] { read("[" + entry("7", "1", "[0, -1e999, 1, 1]", "1") + "]"); });
  EXPECT_THAT(read("[" + entry("7", "1", "[0, 0, 1, 1]", "1e-999") + "]"),
              ElementsAre("7 1 0 0 1 1 0"));
}

}  // namespace
}  // namespace tally::app
