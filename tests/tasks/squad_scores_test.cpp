// SPDX-License-Identifier: Apache-2.0
#include "question_answering/squad_scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AnswerTokens, LowerCasePunctuationArticlesBlanks) {
  EXPECT_THAT(answer_tokens("The Denver Broncos!"), ElementsAre("denver", "broncos"));
  EXPECT_THAT(answer_tokens("a man, an apple; THE end."), ElementsAre("man", "apple", "end"));
  EXPECT_THAT(answer_tokens("the the an"), IsEmpty());
  EXPECT_THAT(answer_tokens("then another athe thea a1 1a"),
              ElementsAre("then", "another", "athe", "thea", "a1", "1a"));
  // Punctuation goes first, and leaves no blank.
  EXPECT_THAT(answer_tokens("a-the U.S. $1,000 (the_an)"),
              ElementsAre("athe", "us", "1000", "thean"));
  EXPECT_THAT(answer_tokens("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), IsEmpty());
  EXPECT_THAT(answer_tokens(""), IsEmpty());
  EXPECT_THAT(answer_tokens(" \t\n"), IsEmpty());
}

TEST(AnswerTokens, CaseIsUnicodes) {
  EXPECT_THAT(answer_tokens("ÉCOLE Straße"), ElementsAre("école", "straße"));
  EXPECT_THAT(answer_tokens("İ"), ElementsAre("i\u0307"));  // one character becomes two
  EXPECT_THAT(answer_tokens("ΟΔΟΣ ΣΟΣ Σ"), ElementsAre("οδος", "σος", "σ"));
  // Which sigma is final is decided while the punctuation is there, of which an apostrophe and a
  // full stop do not count. The modifier letter is both cased and not counted.
  EXPECT_THAT(answer_tokens("ΑΣ.Α ΑΣ. ΑΣ'Α ΑΣ-Α Α'Σ"),
              ElementsAre("ασα", "ας", "ασα", "αςα", "ας"));
  EXPECT_THAT(answer_tokens("\u02B0Σ ΑΣ\u02B0"), ElementsAre("\u02B0σ", "ας\u02B0"));
}

TEST(AnswerTokens, WordsAreUnicodes) {
  EXPECT_THAT(answer_tokens("theé éthe the中 a²"), ElementsAre("theé", "éthe", "the中", "a²"));
  // A mark is no letter: the word before it ends there.
  EXPECT_THAT(answer_tokens("a\u0301 the\u2019s \u201Ca\u201D"),
              ElementsAre("\u0301", "\u2019s", "\u201C", "\u201D"));
  EXPECT_THAT(answer_tokens("«the»"), ElementsAre("«", "»"));
}

TEST(AnswerTokens, WhiteSpaceIsUnicodes) {
  EXPECT_THAT(answer_tokens("b\u00A0c\u2003d\u3000e\u0085f\u2028g\x1Fh"),
              ElementsAre("b", "c", "d", "e", "f", "g", "h"));
  EXPECT_THAT(answer_tokens("b\u200Bc\u180Ed\uFEFFe"), ElementsAre("b\u200Bc\u180Ed\uFEFFe"));
  EXPECT_THAT(answer_tokens(std::string("b\0c", 3)), ElementsAre(std::string("b\0c", 3)));
}

TEST(AnswerTokens, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_THAT(answer_tokens("b\xFF"
                            "c d\xC3"),
              ElementsAre("b\uFFFD"
                          "c",
                          "d\uFFFD"));
  EXPECT_THAT(answer_tokens("the\xFF"), ElementsAre("\uFFFD"));
}

constexpr auto kV1 = AnswerRules::squad_v1;
constexpr auto kV2 = AnswerRules::squad_v2;

TEST(AnswerScores, ComparesNormalisedTexts) {
  EXPECT_EQ(score_against("The Broncos.", "broncos", kV1), (AnswerScore{true, 1}));
  EXPECT_EQ(score_against("Denver Broncos", "broncos", kV1), (AnswerScore{false, 2. / 3}));
  EXPECT_EQ(score_against("broncos denver", "denver broncos", kV1), (AnswerScore{false, 1}));
  EXPECT_EQ(score_against("Panthers", "broncos", kV1), (AnswerScore{false, 0}));
}

// b b c against b c c: two in common, not four.
TEST(AnswerScores, CountsATokenAsOftenAsBothHaveIt) {
  EXPECT_EQ(score_against("b b c", "b c c", kV1).f1, 2 * (2. / 3) * (2. / 3) / (2. / 3 + 2. / 3));
  EXPECT_EQ(score_against("b b b", "b", kV1).f1, 2 * (1. / 3) * 1 / (1. / 3 + 1));
}

TEST(AnswerScores, TextsThatNormaliseToNothing) {
  EXPECT_EQ(score_against("the", ".", kV1), (AnswerScore{true, 0}));
  EXPECT_EQ(score_against("the", ".", kV2), (AnswerScore{true, 1}));
  for (const auto rules : {kV1, kV2}) {
    EXPECT_EQ(score_against("", "b", rules), (AnswerScore{false, 0}));
    EXPECT_EQ(score_against("b", "", rules), (AnswerScore{false, 0}));
  }
}

TEST(AnswerScores, TheBestGoldCountsForEachScore) {
  const std::vector<std::string> golds{"c", "b c d", "b b"};
  const AnswerScore score = score_answer("b c", golds, kV1);
  EXPECT_FALSE(score.exact);
  EXPECT_EQ(score.f1, 2 * 1 * (2. / 3) / (1 + 2. / 3));
  EXPECT_EQ(score_answer("the B-B, b", std::vector<std::string>{"x", "bb b"}, kV1),
            (AnswerScore{true, 1}));
}

TEST(AnswerScores, GoldsOfQuestionsWithoutAnAnswer) {
  const std::vector<std::string> none;
  EXPECT_EQ(score_answer("b", none, kV1), (AnswerScore{false, 0}));
  EXPECT_EQ(score_answer("", none, kV1), (AnswerScore{false, 0}));
  EXPECT_EQ(score_answer("b", none, kV2), (AnswerScore{false, 0}));
  EXPECT_EQ(score_answer("", none, kV2), (AnswerScore{true, 1}));
  EXPECT_EQ(score_answer("the", std::vector<std::string>{".", ""}, kV2), (AnswerScore{true, 1}));
  // A gold of punctuation beside another one does not count.
  EXPECT_EQ(score_answer("", std::vector<std::string>{".", "b"}, kV2), (AnswerScore{false, 0}));
  EXPECT_EQ(score_answer("", std::vector<std::string>{".", "b"}, kV1), (AnswerScore{true, 0}));
}

}  // namespace
}  // namespace tally::tasks
