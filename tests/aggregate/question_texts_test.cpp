// SPDX-License-Identifier: Apache-2.0
// What is read of questions, and tables of questions that contradict each other.
#include <tally/aggregate/question_units.hpp>

#include "expect_error.hpp"
#include "question_file.hpp"
#include "raw_hdf5.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Three questions, about the paragraphs 0, 0 and 2; the second has no answer.
class QuestionTextsTest : public testing::Test {
 protected:
  data::DataSet written() {
    file_.write(folder_ / "q.h5");
    return data::DataSet(folder_ / "q.h5");
  }
  void expect_refusal(const std::string& problem) {
    expect_error(ErrorKind::dataset, {problem + " (read). Write it with the scripts of data_tools"},
                 [&] {
                   auto set = written();
                   const QuestionTexts texts(set, 0, 3);
                 });
  }

  raw::TemporaryFolder folder_;
  data::QuestionFile file_;
};

TEST_F(QuestionTextsTest, EachQuestionHasItsParagraphAndAnswers) {
  auto set = written();
  const QuestionTexts texts(set, 0, 3);
  const auto first = texts.question(0);
  EXPECT_EQ(first.unit, 0);
  EXPECT_EQ(first.id, "56be");
  EXPECT_EQ(first.context, "Zoë lives in 東京 since 1999 .");
  ASSERT_EQ(first.tokens.size(), 7U);
  EXPECT_EQ(first.tokens[1].begin, 5) << "ë takes two bytes";
  EXPECT_EQ(first.tokens[1].end, 10);
  EXPECT_THAT(first.golds, ElementsAre("東京", "Tokyo"));
  EXPECT_THAT(texts.question(1).golds, IsEmpty());
  EXPECT_EQ(texts.question(1).context, first.context);
  EXPECT_EQ(texts.question(2).context, "Cats sleep");
  EXPECT_EQ(texts.question(2).tokens.size(), 2U);
  EXPECT_THAT(texts.question(2).golds, ElementsAre("Cats"));
}

TEST_F(QuestionTextsTest, SomeInTheMiddleAreTheSame) {
  auto set = written();
  const QuestionTexts texts(set, 1, 2);
  EXPECT_EQ(texts.question(1).id, "56bf");
  EXPECT_THAT(texts.question(1).golds, IsEmpty());
  EXPECT_EQ(texts.question(2).id, "Ω-3");
  EXPECT_EQ(texts.question(2).context, "Cats sleep");
  EXPECT_THAT(texts.question(2).golds, ElementsAre("Cats"));
}

TEST_F(QuestionTextsTest, AParagraphThatNoQuestionIsAboutIsNotRead) {
  file_.contexts[1] = std::string(5000, 'x');
  auto set = written();
  const QuestionTexts texts(set, 0, 3);
  EXPECT_LT(set.bytes_read(), 5000);
  EXPECT_EQ(texts.question(2).context, "Cats sleep");
}

TEST_F(QuestionTextsTest, NoQuestionAtAllIsNoFault) {
  auto set = written();
  EXPECT_NO_THROW({ const QuestionTexts none(set, 3, 0); });
}

TEST_F(QuestionTextsTest, ParagraphsThatDescendAreRefused) {
  file_.paragraphs = {0, 2, 1};
  expect_refusal("/units/paragraph[2] = 1, expected 2 or more");
}

struct WrongAnswers {
  const char* name;
  std::vector<std::int64_t> first_answers;
  bool no_answer;
  const char* message;
};

class WrongAnswersTest : public QuestionTextsTest,
                         public testing::WithParamInterface<WrongAnswers> {};

TEST_P(WrongAnswersTest, AreRefused) {
  file_.first_answers = GetParam().first_answers;
  file_.no_answer = GetParam().no_answer;
  expect_refusal(GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, WrongAnswersTest,
    testing::Values(
        WrongAnswers{
            "BeginBehindTheFirst", {1, 2, 2, 3}, true, "/units/first_answer[0] = 1, expected 0"},
        WrongAnswers{
            "Descend", {0, 2, 1, 3}, true, "/units/first_answer[2] = 1, expected 2 or more"},
        WrongAnswers{"EndBeforeTheLast",
                     {0, 1, 1, 2},
                     true,
                     "/units/first_answer[3] = 2, expected 3, the number of answers"},
        WrongAnswers{"LackOneThatMustBe",
                     {0, 2, 2, 3},
                     false,
                     "/units/first_answer[2] = 2, expected 3 or more"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tally::app
