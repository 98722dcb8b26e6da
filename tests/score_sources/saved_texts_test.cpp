// SPDX-License-Identifier: Apache-2.0
// Answers to questions, as SQuAD's predictions.json and a predictions.h5 have them.
#include <fstream>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "saved_file.hpp"
#include "saved_texts.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Offsets = std::vector<std::int64_t>;

class SavedTextsTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "p.h5") const { return (folder_ / name).string(); }
  SavedTexts of_json(const std::string& text) const {
    std::ofstream(path("p.json"), std::ios::binary) << text;
    return read_texts(path("p.json"));
  }
  void expect_json_refused(const std::string& text, const std::string& says) const {
    expect_error(ErrorKind::dataset,
                 {"p.json' " + says, "Expected SQuAD's predictions.json, {\"question id\""},
                 [&] { of_json(text); });
  }
  void expect_refused(const std::string& says) const {
    expect_error(ErrorKind::dataset, {"predictions file '" + path() + "'" + says},
                 [&] { read_texts(path()); });
  }

  raw::TemporaryFolder folder_;
};

TEST_F(SavedTextsTest, AnswersOfJsonAreInTheOrderOfTheirIds) {
  EXPECT_THAT(
      of_json(R"({"q2": "1889", "q10": "", "a": "\u6771 \"x\"", "東": "é"})"),
      ElementsAre(Pair("a", "東 \"x\""), Pair("q10", ""), Pair("q2", "1889"), Pair("東", "é")));
  EXPECT_THAT(of_json("{}"), IsEmpty());
  EXPECT_THAT(of_json(R"({"a": "first", "a": "last"})"), ElementsAre(Pair("a", "last")));
}

TEST_F(SavedTextsTest, OtherJsonIsRefused) {
  for (const char* text : {"", "{", "[]", "null", R"("a")", R"({"a": "b"} {})", R"({"a": NaN})",
                           "{\"a\": \"\xff\"}", R"({"a": "\ud800"})"}) {
    SCOPED_TRACE(text);
    expect_json_refused(text, "is no JSON object");
  }
  expect_json_refused(R"({"b": "x", "a": 1})", "has no text for 'a'");
  expect_json_refused(R"({"a": null})", "has no text for 'a'");
  expect_json_refused(R"({"a\n": ["x"]})", R"(has no text for 'a\x0a')");
  expect_json_refused(R"({"a": )" + std::string(50000, '[') + std::string(50000, ']') + "}",
                      "has no text for 'a'");
}

TEST_F(SavedTextsTest, AnswersOfPredictionsAreMatchedWithTheirIds) {
  SavedFile(path(), "question-answering")
      .texts("id", {"q2", "東", "", "q1"})
      .texts("prediction", {"1889", "", "no id", std::string("a\0b", 3)})
      .close();
  EXPECT_THAT(read_texts(path()), ElementsAre(Pair("", "no id"), Pair("q1", std::string("a\0b", 3)),
                                              Pair("q2", "1889"), Pair("東", "")));
}

TEST_F(SavedTextsTest, PredictionsWithoutRowsHoldNoAnswers) {
  SavedFile(path(), "question-answering").texts("id", {}).texts("prediction", {}).close();
  EXPECT_THAT(read_texts(path()), IsEmpty());
}

TEST_F(SavedTextsTest, PredictionsOfAnotherTaskLackAnswers) {
  SavedFile(path(), "multiclass").each<float>("logits", {0, 1}).close();
  expect_refused(
      " has no column id or prediction to score for question-answering. Evaluate with --task "
      "question-answering.");
}

TEST_F(SavedTextsTest, IdsWithoutAnswersAreRefused) {
  SavedFile(path(), "question-answering")
      .texts("id", {"a", "b", "c"})
      .texts("prediction", {"x"})
      .close();
  expect_refused(" has 3 ids and 1 predictions");
}

TEST_F(SavedTextsTest, AColumnWithoutItsTextsIsRefused) {
  SavedFile(path(), "question-answering")
      .texts("id", {"a"})
      .each<std::int64_t>("prediction/offsets", {0, 1})
      .close();
  expect_refused(", /prediction/values");
}

TEST_F(SavedTextsTest, AnotherHdf5FileHoldsNoPredictions) {
  raw::create(path(), [](hid_t) {});
  expect_error(ErrorKind::dataset, {"p.h5' holds no predictions"}, [&] { read_texts(path()); });
}

struct WrongOffsets {
  const char* name;
  Offsets offsets;
  std::string says;
};

class WrongOffsetsTest : public SavedTextsTest, public testing::WithParamInterface<WrongOffsets> {};

TEST_P(WrongOffsetsTest, AreNoPlacesOfTexts) {
  SavedFile(path(), "question-answering")
      .texts("prediction", {"x", "y"})
      .each("id/offsets", GetParam().offsets)
      .each<std::uint8_t>("id/values", {'a', 'b', 'c'})
      .close();
  expect_refused(", /id/offsets" + GetParam().says + " is no place of 3 values");
}

INSTANTIATE_TEST_SUITE_P(
    Offsets, WrongOffsetsTest,
    testing::Values(WrongOffsets{"Negative", {-1, 1, 3}, "[0] = -1"},
                    WrongOffsets{"Descending", {0, 2, 1}, "[1] = 2"},
                    WrongOffsets{"BehindTheEnd", {0, 1, 4}, "[1] = 1"},
                    WrongOffsets{"FarBehindTheEnd", {0, std::int64_t{1} << 62, 3}, "[0] = 0"}),
    [](const auto& tested) { return tested.param.name; });

TEST(PlaceOfTest, AnIdIsFoundWhereItStands) {
  const SavedTexts texts{{"a", "1"}, {"b", "2"}, {"bb", "3"}};
  EXPECT_EQ(place_of(texts, "a"), 0U);
  EXPECT_EQ(place_of(texts, "bb"), 2U);
  for (const char* id : {"", "ab", "c"}) EXPECT_EQ(place_of(texts, id), std::nullopt) << id;
  EXPECT_EQ(place_of({}, "a"), std::nullopt);
}

}  // namespace
}  // namespace tally::app
