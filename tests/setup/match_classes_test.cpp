// SPDX-License-Identifier: Apache-2.0
// Names of a model's classes beside those of a data set's: all ranks end alike.
#include "match_classes.hpp"

#include <gmock/gmock.h>

#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MatchClassesTest : public SessionFixture {
 protected:
  EvaluationSession open(std::vector<std::string> of_model) {
    auto session = SessionFixture::open(data::SampleFile{.num_classes = 3});
    predictor_of(session).model_card.emplace().class_names = std::move(of_model);
    return session;
  }
  std::vector<std::string> notes_of(EvaluationSession& session) {
    Notes notes;
    match_classes(world(), session, notes);
    return notes.all();
  }
  std::string refusal(EvaluationSession& session) {
    Notes notes;
    return agreed_refusal(ErrorKind::model, [&] { match_classes(world(), session, notes); });
  }
};

TEST_F(MatchClassesTest, TheSameNamesSayNothing) {
  auto session = open({"class0", "class1", "class2"});
  EXPECT_THAT(notes_of(session), IsEmpty());
}

TEST_F(MatchClassesTest, OtherNamesAreANote) {
  auto session = open({"class0", "dog", "class2"});
  EXPECT_THAT(notes_of(session),
              ElementsAre("classes are called otherwise: 1 is 'class1' in the data set, 'dog' in "
                          "the model's card; labels count by their numbers"));
}

TEST_F(MatchClassesTest, AnotherOrderIsRefused) {
  auto session = open({"class2", "class1", "class0"});
  EXPECT_THAT(refusal(session), HasSubstr("have other numbers in the model: 0 'class0' is the "
                                          "model's 2, 2 'class2' is the model's 0. --classes-by"));
}

TEST_F(MatchClassesTest, NothingIsMatchedWhereNothingIsScored) {
  config_.scoring.task = "predict";
  auto session = open({"class2", "class1", "class0"});
  EXPECT_THAT(notes_of(session), IsEmpty());
  config_.scoring.classes_by = "name";
  auto by_name = open({"class2", "class1", "class0"});
  Notes notes;
  EXPECT_THAT(agreed_refusal(ErrorKind::usage, [&] { match_classes(world(), by_name, notes); }),
              HasSubstr("--task predict has none"));
}

TEST_F(MatchClassesTest, AnotherOrderMayBeMeant) {
  config_.scoring.classes_by = "index";
  auto session = open({"class2", "class1", "class0"});
  EXPECT_THAT(notes_of(session), IsEmpty());
  EXPECT_THAT(session.data.set->info().class_names, ElementsAre("class0", "class1", "class2"));
}

TEST_F(MatchClassesTest, LabelsMayGoByName) {
  config_.scoring.classes_by = "name";
  auto session = open({"class2", "class1", "other", "class0"});
  EXPECT_THAT(notes_of(session), IsEmpty());
  EXPECT_EQ(session.data.set->info().num_classes, 4);
  EXPECT_EQ(session.data.set->info().class_names.at(3), "class0");
}

TEST_F(MatchClassesTest, LabelsGoByNameOnlyWhereThereAreNames) {
  config_.scoring.classes_by = "name";
  auto without = open({});
  EXPECT_THAT(refusal(without), HasSubstr("the model's card has no names of classes"));
  auto others = open({"class0", "class1", "dog"});
  EXPECT_THAT(refusal(others), HasSubstr("2 'class2'"));
}

}  // namespace
}  // namespace tally::app
