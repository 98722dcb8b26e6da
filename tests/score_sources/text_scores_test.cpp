// SPDX-License-Identifier: Apache-2.0
// Saved answers matched with questions by their ids, whichever rank has the question.
#include "text_scores.hpp"

#include <tally/base/format.hpp>

#include "question_file.hpp"
#include "saved_file.hpp"
#include "score_fixture.hpp"

namespace tally::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

using Names = std::vector<std::string>;

// "q0", "q1", … of one window each, about the same paragraph; the answer of each is "Cats".
data::QuestionFile many_questions(std::int64_t count) {
  data::QuestionFile file =
      data::questions_of_lengths(std::vector<std::int32_t>(static_cast<std::size_t>(count), 4), 4);
  file.no_answer = false;
  file.first_answers.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    file.ids[static_cast<std::size_t>(i)] = format("q{}", i);
    file.first_answers.push_back(i);
    file.answers.emplace_back("Cats");
  }
  file.first_answers.push_back(count);
  return file;
}

// Three questions: of 56be the answers are 東京 and Tokyo, 56bf has none, of Ω-3 it is Cats.
class TextScoresTest : public ScoreTest {
 protected:
  TextScoresTest() { use_data(data::QuestionFile{}); }
};

// Of "Cats sleep" one word of two is right, and all of one is found: F1 is 2/3.
TEST_F(TextScoresTest, AnswersAreMatchedById) {
  const auto json = text_file("p.json", R"({"Ω-3": "Cats sleep", "56bf": "", "56be": "tokyo"})");
  const auto saved = file("p.h5", [](const std::filesystem::path& path) {
    SavedFile(path, "question-answering")
        .texts("id", {"Ω-3", "56be", "56bf"})
        .texts("prediction", {"Cats sleep", "tokyo", ""})
        .close();
  });
  std::string first_digest;
  for (const auto& path : {json, saved}) {
    for (const std::int64_t batch_size : {1, 2}) {
      const auto scored = score(path, batch_size);
      EXPECT_EQ(scored.results().units.count, 3);
      EXPECT_DOUBLE_EQ(value_of(scored, "exact_match").value(), 2.0 / 3);
      EXPECT_DOUBLE_EQ(value_of(scored, "f1").value(), (1 + 1 + 2.0 / 3) / 3);
      EXPECT_DOUBLE_EQ(value_of(scored, "no_answer_exact_match").value(), 1);
      EXPECT_EQ(all_ranks(texts_in(scored.local.log, "prediction")),
                world().is_root() ? "tokyo,,Cats sleep," : "");
      if (first_digest.empty()) first_digest = scored.global.state_digest;
      EXPECT_EQ(scored.global.state_digest, first_digest);
    }
  }
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(TextScoresTest, AQuestionWithoutATextIsWrongEvenIfNothingIsRight) {
  const auto scored = score(text_file("p.json", R"({"56be": "Tokyo"})"));
  EXPECT_DOUBLE_EQ(value_of(scored, "exact_match").value(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(value_of(scored, "f1").value(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(value_of(scored, "no_answer_exact_match").value(), 0);
  if (!world().is_root()) return;
  EXPECT_EQ(scored.ids->num_missing, 2);
  EXPECT_THAT(scored.ids->first_missing, ElementsAre("56bf", "Ω-3"));
  EXPECT_THAT(notes_.all(),
              ElementsAre("2 questions have no prediction, and count as wrong: 56bf, Ω-3"));
}

TEST_F(TextScoresTest, TextsThatNobodyAskedForDoNotCount) {
  const auto scored = score(
      text_file("p.json", R"({"x": "", "56be": "", "56bf": "", "A": "Cats", "Ω-3": "Cats"})"));
  EXPECT_DOUBLE_EQ(value_of(scored, "exact_match").value(), 2.0 / 3);
  if (!world().is_root()) {
    EXPECT_THAT(notes_.all(), IsEmpty()) << "they are of the run, not of each rank";
    return;
  }
  EXPECT_EQ(scored.ids->num_foreign, 2);
  EXPECT_THAT(scored.ids->first_foreign, ElementsAre("A", "x"));
  EXPECT_EQ(scored.ids->num_missing, 0);
  EXPECT_THAT(notes_.all(),
              ElementsAre("2 predictions are for ids that the data set does not have, and do not "
                          "count: A, x"));
}

TEST_F(TextScoresTest, WithoutAnyTextAllQuestionsAreWrong) {
  const auto scored = score(text_file("p.json", "{}"));
  EXPECT_EQ(scored.results().units.count, 3);
  EXPECT_EQ(value_of(scored, "exact_match"), 0.0);
  if (!world().is_root()) return;
  EXPECT_THAT(scored.ids->first_missing, ElementsAre("56be", "56bf", "Ω-3"));
}

// The first ten of all ranks in the order of the questions, whatever each rank has of them.
TEST_F(TextScoresTest, OfManyMissingOnesTheFirstTenAreNamed) {
  use_data(many_questions(25));
  const auto path = text_file("p.json", R"({"q1": "Cats", "q24": "Cats"})");
  Names expected{"q0"};
  for (int i = 2; i < 11; ++i) expected.push_back(format("q{}", i));
  for (const std::int64_t batch_size : {3, 30}) {
    const auto scored = score(path, batch_size);
    EXPECT_DOUBLE_EQ(value_of(scored, "exact_match").value(), 2.0 / 25);
    if (!world().is_root()) continue;
    EXPECT_EQ(scored.ids->num_missing, 23);
    EXPECT_EQ(scored.ids->first_missing, expected);
    EXPECT_THAT(notes_.all(), Contains(testing::EndsWith("q9, q10, …")));
  }
}

// As many as several ranks look at, some pieces each.
TEST_F(TextScoresTest, TextsBehindALimitAreNoForeignOnes) {
  use_data(many_questions(1300));
  std::string text = R"({"other": "x")";
  for (const int i : {0, 1, 2, 255, 257, 258, 514, 770, 1026, 1299}) {
    text += format(R"(, "q{}": "Cats")", i);
  }
  config_.scoring.limit = 2;
  const auto scored = score(text_file("p.json", text + "}"));
  EXPECT_EQ(scored.results().units.count, 2);
  EXPECT_EQ(value_of(scored, "exact_match"), 1.0);
  if (!world().is_root()) return;
  EXPECT_THAT(scored.ids->first_foreign, ElementsAre("other"));
  EXPECT_EQ(scored.ids->num_foreign, 1);
  EXPECT_EQ(scored.ids->num_missing, 0) << "those behind the limit are not scored";
}

TEST_F(TextScoresTest, IdsAreThoseOfTheLastEvaluation) {
  const auto session = open(text_file("p.json", R"({"56be": "Tokyo", "y": ""})"));
  score(session);
  const auto again = score(session);
  if (!world().is_root()) return;
  EXPECT_EQ(again.ids->num_missing, 2);
  EXPECT_THAT(again.ids->first_missing, ElementsAre("56bf", "Ω-3"));
  EXPECT_THAT(again.ids->first_foreign, ElementsAre("y"));
}

TEST_F(TextScoresTest, AllRanksHaveTheTextsOfRankZero) {
  const SavedTexts expected{{"", std::string("a\0b", 3)}, {"id", "\xff no UTF-8"}, {"東", ""}};
  const auto path = file("p.h5", [&](const std::filesystem::path& there) {
    SavedFile(there, "question-answering")
        .texts("id", {"東", "id", ""})
        .texts("prediction", {"", expected[1].second, expected[0].second})
        .close();
  });
  EXPECT_EQ(share_texts(world(), path), expected);
  EXPECT_THAT(share_texts(world(), text_file("none.json", "{}")), IsEmpty());
  EXPECT_THAT(refusal_of(ErrorKind::dataset, [&] { share_texts(world(), path + ".no"); }),
              testing::HasSubstr("predictions file"));
}

}  // namespace
}  // namespace tally::app
