// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/answers.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "expect_error.hpp"
#include "values_of.hpp"

namespace tally::tasks {
namespace {

using testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr AnswerPolicy kV1{};
constexpr AnswerPolicy kV2{.no_answer = true};

// "Zoë lives in 東京 .", a token a word.
struct Asked {
  std::string id = "q1";
  std::string context = "Zoë lives in 東京 .";
  std::vector<TokenBytes> tokens = {{0, 4}, {5, 10}, {11, 13}, {14, 20}, {21, 22}};
  std::vector<std::string> golds = {"Kyoto", "in 東京"};

  Question question() const {
    return {.unit = 7, .id = id, .context = context, .tokens = tokens, .golds = golds};
  }
  Answer answer(const AnswerCandidates& candidates, const AnswerPolicy& policy) const {
    return answer_of(candidates, question(), policy);
  }
};

AnswerCandidates candidates(std::int32_t first, std::int32_t last, float no_answer = 0) {
  return {7, no_answer, 0, true, {{first, last, 1, 2}}};
}

TEST(Answers, AreTheBytesOfTheirTokens) {
  const Asked asked;
  for (const auto& [first, last, text] : std::vector<std::tuple<int, int, std::string>>{
           {0, 0, "Zoë"}, {3, 3, "東京"}, {2, 4, "in 東京 ."}, {0, 4, asked.context}}) {
    for (const AnswerPolicy& policy : {kV1, kV2}) {
      EXPECT_EQ(asked.answer(candidates(first, last), policy).text, text);
    }
  }
}

TEST(Answers, AreScoredAgainstTheBestGold) {
  const Asked asked;
  const Answer right = asked.answer(candidates(2, 4), kV1);
  EXPECT_TRUE(right.row.exact);
  EXPECT_EQ(right.row.f1, 1);
  EXPECT_EQ(right.row.index, 7U);
  EXPECT_TRUE(right.row.has_answer);
  EXPECT_TRUE(right.row.finite);
  EXPECT_EQ(right.span, (AnswerSpan{2, 4, 1, 2}));
  const Answer half = asked.answer(candidates(3, 3), kV1);
  EXPECT_FALSE(half.row.exact);
  EXPECT_DOUBLE_EQ(half.row.f1, 2.0 / 3);
  EXPECT_EQ(half.span_exact, half.row.exact);
  EXPECT_EQ(half.span_f1, half.row.f1);
}

// The best span's score is 3.
TEST(Answers, AreGivenUpWhereNoneIsBetterByMoreThanTheThreshold) {
  const Asked asked;
  for (const double threshold : {-1.5, -1.0, 0.0, 1.0, 2.5}) {
    for (const double margin : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
      const AnswerPolicy policy{.no_answer = true, .no_answer_threshold = threshold};
      const auto given = candidates(2, 3, static_cast<float>(3 + margin));
      const Answer answer = asked.answer(given, policy);
      const bool is_given = margin <= threshold;
      EXPECT_EQ(answer.text, is_given ? "in 東京" : "") << margin << " and " << threshold;
      EXPECT_EQ(answer.row.exact, is_given);
      EXPECT_EQ(answer.row.f1, is_given ? 1 : 0);
      EXPECT_EQ(answer.no_answer_margin, margin);
      EXPECT_TRUE(answer.span_exact) << "whatever the threshold";
      EXPECT_EQ(answer.span_f1, 1);
      EXPECT_TRUE(answer.span);
    }
  }
  EXPECT_EQ(asked.answer(candidates(3, 3, 1000), kV1).text, "東京") << "v1 always answers";
}

TEST(Answers, OfAQuestionWithoutOneAreRightWhereNoneIsGiven) {
  Asked asked;
  asked.golds.clear();
  const Answer none = asked.answer(candidates(3, 3, 9), kV2);
  EXPECT_FALSE(none.row.has_answer);
  EXPECT_TRUE(none.row.exact);
  EXPECT_EQ(none.row.f1, 1);
  EXPECT_FALSE(none.span_exact);
  EXPECT_EQ(none.span_f1, 0);
  const Answer invented = asked.answer(candidates(3, 3, -9), kV2);
  EXPECT_FALSE(invented.row.has_answer || invented.row.exact);
  EXPECT_EQ(invented.row.f1, 0);
  const Answer v1 = asked.answer(candidates(3, 3), kV1);
  EXPECT_TRUE(v1.row.has_answer) << "v1 knows no others";
  EXPECT_FALSE(v1.row.exact);
}

TEST(Answers, WithoutSpansAreEmpty) {
  Asked asked;
  const AnswerCandidates none{7, 5, 6, true, {}};
  for (const AnswerPolicy& policy : {kV1, kV2}) {
    const Answer answer = asked.answer(none, policy);
    EXPECT_EQ(answer.text, "");
    EXPECT_FALSE(answer.span);
    EXPECT_EQ(answer.no_answer_margin, 0);
    EXPECT_FALSE(answer.row.exact);
  }
  asked.golds.clear();
  EXPECT_TRUE(asked.answer(none, kV2).row.exact);
  EXPECT_FALSE(asked.answer(none, kV1).row.exact);
}

TEST(Answers, WithoutFiniteScoresAreWrong) {
  Asked asked;
  asked.golds.clear();
  const Answer answer = asked.answer({7, kNan, kNan, false, {}}, kV2);
  EXPECT_FALSE(answer.row.finite || answer.row.exact);
  EXPECT_EQ(answer.row.f1, 0);
}

TEST(Answers, MayBeSomebodysText) {
  const Asked asked;
  const Answer answer = answer_of("The Kyoto!", asked.question(), kV2);
  EXPECT_EQ(answer.text, "The Kyoto!");
  EXPECT_TRUE(answer.row.exact && answer.row.finite && answer.span_exact);
  EXPECT_FALSE(answer.span);
  EXPECT_FALSE(answer_of("", asked.question(), kV2).row.exact);
}

TEST(Answers, HaveTokensOfTheParagraph) {
  const Asked asked;
  for (const auto& [first, last, bad] :
       std::vector<std::tuple<int, int, int>>{{3, 5, 5}, {-1, 2, -1}, {7, 8, 7}}) {
    expect_error(ErrorKind::dataset,
                 {"question 7 ('q1') has a window with token " + std::to_string(bad) +
                  " of a paragraph of 5 tokens"},
                 [&, first = first, last = last] { asked.answer(candidates(first, last), kV1); });
  }
}

TEST(Answers, HaveBytesOfTheContext) {
  for (const TokenBytes& bad : {TokenBytes{14, 24}, TokenBytes{-1, 5}, TokenBytes{9, 8}}) {
    Asked asked;
    asked.tokens[3] = bad;
    expect_error(ErrorKind::dataset,
                 {"question 7 ('q1') has tokens at bytes " + std::to_string(bad.begin) + " to " +
                  std::to_string(bad.end) + " of a context of 22 bytes"},
                 [&] { asked.answer(candidates(3, 3), kV1); });
  }
  Asked asked;
  asked.tokens[3] = {22, 22};
  EXPECT_EQ(asked.answer(candidates(3, 3), kV1).text, "") << "no bytes, but in the context";
}

std::string text_of(const std::vector<std::byte>& column) {
  return {reinterpret_cast<const char*>(column.data()), column.size()};
}

TEST(Answers, AreRecorded) {
  const Asked asked;
  for (const AnswerPolicy& policy : {kV1, kV2}) {
    predictions::RecordBatch records;
    for (const auto& given : {candidates(2, 3, 3.5F), AnswerCandidates{7, 0, 0, true, {}}}) {
      append_answer(asked.question(), asked.answer(given, policy), policy, records);
    }
    const auto specs = answer_columns(policy);
    EXPECT_TRUE(std::ranges::is_sorted(specs, {}, &predictions::ColumnSpec::name));
    ASSERT_EQ(records.num_rows, 2);
    ASSERT_EQ(records.columns.size(), specs.size());
    const auto column = [&](std::string_view name) {
      const auto at = std::ranges::find(specs, name, &predictions::ColumnSpec::name);
      return static_cast<std::size_t>(at - specs.begin());
    };
    const auto& columns = records.columns;
    const bool is_given = !policy.no_answer;
    EXPECT_THAT(values_of<std::uint8_t>(columns.at(column("exact_match"))),
                ElementsAre(is_given, 0));
    EXPECT_THAT(values_of<double>(columns.at(column("f1"))), ElementsAre(is_given, 0));
    EXPECT_EQ(text_of(columns.at(column("id"))), "q1q1");
    EXPECT_THAT(records.lengths.at(column("id")), ElementsAre(2, 2));
    EXPECT_THAT(values_of<std::int64_t>(columns.at(column("index"))), ElementsAre(7, 7));
    EXPECT_EQ(text_of(columns.at(column("prediction"))), is_given ? "in 東京" : "");
    EXPECT_THAT(records.lengths.at(column("prediction")), ElementsAre(is_given ? 9 : 0, 0));
    EXPECT_THAT(values_of<double>(columns.at(column("score"))), ElementsAre(3, 0));
    EXPECT_THAT(values_of<std::int32_t>(columns.at(column("span"))), ElementsAre(11, 20, -1, -1));
    EXPECT_EQ(specs.size(), policy.no_answer ? 8U : 7U);
    if (!policy.no_answer) continue;
    EXPECT_THAT(values_of<double>(columns.at(column("no_answer_margin"))), ElementsAre(0.5, 0));
  }
}

TEST(Answers, AreWrittenAsJsonInAscii) {
  Asked asked;
  asked.id = "a\"b\\";
  EXPECT_EQ(prediction_json(asked.question(), asked.answer(candidates(2, 3), kV1)),
            R"("a\"b\\": "in \u6771\u4eac")");
  asked.context = "x\ny\t\x01 \xF0\x9F\x98\x80 \xFF";
  asked.tokens = {{0, 5}, {6, 10}, {11, 12}};
  EXPECT_EQ(prediction_json(asked.question(), asked.answer(candidates(0, 2), kV1)),
            R"("a\"b\\": "x\ny\t\u0001 \ud83d\ude00 \ufffd")");
  EXPECT_EQ(prediction_json(asked.question(), asked.answer({7, 0, 0, true, {}}, kV1)),
            R"("a\"b\\": "")");
}

nlohmann::json nbest(const AnswerCandidates& given, const AnswerPolicy& policy) {
  const Asked asked;
  return nlohmann::json::parse("{" + nbest_json(given, asked.question(), policy) + "}").at("q1");
}

TEST(NBest, HasNoneAmongTheTextsByItsScore) {
  const AnswerCandidates spans{7, 2, 1, true, {{3, 3, 3, 2}, {0, 0, 2, 1}, {0, 1, 1, 1}}};
  const std::vector<std::string> v1{"東京", "Zoë", "Zoë lives"}, v2{"東京", "Zoë", "", "Zoë lives"};
  for (const AnswerPolicy& policy : {kV1, kV2}) {
    const auto list = nbest(spans, policy);
    std::vector<std::string> texts;
    double sum = 0, expected_sum = 0;
    for (const auto& entry : list) {
      texts.push_back(entry.at("text"));
      sum += entry.at("probability").get<double>();
      expected_sum +=
          std::exp(entry.at("start_logit").get<double>() + double{entry.at("end_logit")});
    }
    EXPECT_EQ(texts, policy.no_answer ? v2 : v1) << "behind texts that are as good";
    EXPECT_NEAR(sum, 1, 1e-12);
    for (const auto& entry : list) {
      const double score = double{entry.at("start_logit")} + double{entry.at("end_logit")};
      EXPECT_NEAR(entry.at("probability"), std::exp(score) / expected_sum, 1e-12);
    }
    EXPECT_EQ(list.at(0).at("start_logit"), 3);
    EXPECT_EQ(list.at(0).at("end_logit"), 2);
  }
}

TEST(NBest, OfLargeLogitsIsFinite) {
  const auto list = nbest({7, 500, 500, true, {{3, 3, 600, 600}, {0, 0, -600, 0}}}, kV2);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list.at(0).at("probability"), 1);
  EXPECT_EQ(list.at(2).at("probability"), 0);
}

TEST(NBest, HasOneEntryAtLeast) {
  for (const AnswerPolicy& policy : {kV1, kV2}) {
    for (const float logit : {3.0F, -kInf}) {
      const auto list = nbest({7, logit, 0, true, {}}, policy);
      ASSERT_EQ(list.size(), 1U);
      EXPECT_EQ(list.at(0).at("text"), "");
      EXPECT_EQ(list.at(0).at("probability"), 1);
    }
    const auto spoilt = nbest({7, kNan, kNan, false, {}}, policy);
    EXPECT_TRUE(spoilt.at(0).at("start_logit").is_null());
    EXPECT_TRUE(spoilt.at(0).at("probability").is_null());
  }
}

}  // namespace
}  // namespace tally::tasks
