// SPDX-License-Identifier: Apache-2.0
// Questions answered from windows that lie on several ranks, their texts and their best threshold.
#include <tally/aggregate/question_units.hpp>

#include <limits>
#include <numeric>

#include <tally/aggregate/global_result.hpp>
#include <tally/aggregate/unit_aggregation.hpp>

#include "aggregate_fixture.hpp"
#include "question_file.hpp"

namespace tally::app {
namespace {

using tasks::AnswerCandidates;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Of the five windows of a QuestionFile. Three are of the first question, whose answer is 東京: its
// best score is the 9 of the third window, that for no answer the 1 of the second. The second
// question has no answer, which scores 5 against 1. The third one is answered with "Cats sleep" in
// place of "Cats", by 4 against 1.
std::vector<AnswerCandidates> windows() {
  return {{0, 1, 1, true, {{0, 0, 1, 1}}},
          {0, 0.5F, 0.5F, true, {{3, 3, 4, 3}}},
          {0, 2, 2, true, {{3, 3, 5, 4}, {4, 4, 1, 0}}},
          {1, 3, 2, true, {{1, 1, 1, 0}}},
          {2, 1, 0, true, {{0, 1, 2, 2}}}};
}

class QuestionsTest : public AggregateTest {
 protected:
  EvaluationSession open_questions(const std::vector<std::string>& metrics = {}) {
    return open(data::QuestionFile{},
                {.metrics = {.names = metrics}, .save = {tasks::SaveColumns::labels}});
  }
  LocalUnits join(const EvaluationSession& session, const std::vector<AnswerCandidates>& all) {
    auto samples = empty_samples(session, {}, session.scoring.task->sample_columns());
    const auto own = own_samples(session);
    predictions::RecordBatch batch;
    batch.num_rows = own.count;
    batch.columns.resize(1);
    for (std::int64_t i = own.first; i < own.end(); ++i) {
      append_record(i, all.at(to_size(i)), answers_of(session)->limits(), batch.columns[0]);
    }
    samples.retained.append(batch);
    return join_units(world(), session, std::move(samples));
  }
  // Collective. The text that the ranks write one after the other, on rank 0.
  std::string text(const LocalUnits& local, std::int64_t column) {
    const auto parts = world().gather(text_of(local.texts.value(), column));
    return std::accumulate(parts.begin(), parts.end(), std::string());
  }
};

TEST_F(QuestionsTest, AreAnsweredFromAllTheirWindows) {
  for (const std::int64_t batch_size : {1, 2, 4}) {
    batch_size_ = batch_size;
    const auto session = open_questions();
    auto local = join(session, windows());
    const auto results = merge_results(world(), session, local).results;
    EXPECT_EQ(results.units.count, 3);
    EXPECT_EQ(results.samples().count, 5);
    EXPECT_DOUBLE_EQ(value_of(results, "exact_match").value(), 2.0 / 3);
    // Of "Cats sleep" one word of two is right, and all of one is found.
    EXPECT_DOUBLE_EQ(value_of(results, "f1").value(), (1 + 1 + 2.0 / 3) / 3);
    EXPECT_DOUBLE_EQ(value_of(results, "has_answer_exact_match").value(), 0.5);
    EXPECT_DOUBLE_EQ(value_of(results, "no_answer_exact_match").value(), 1.0);
  }
}

TEST_F(QuestionsTest, TextsOfAllRanksMakeOneList) {
  const auto session = open_questions();
  const auto local = join(session, windows());
  const auto predictions = text(local, kPredictionsText), nbest = text(local, kNbestText);
  if (!world().is_root()) return;
  EXPECT_EQ(predictions, R"(
"56be": "\u6771\u4eac",
"56bf": "",
"\u03a9-3": "Cats sleep")");
  EXPECT_THAT(nbest, testing::StartsWith("\n\"56be\": [{\"text\":"));
  EXPECT_EQ(std::ranges::count(nbest, '\n'), 3);
}

TEST_F(QuestionsTest, WithoutRecordsThereAreNoTexts) {
  const auto session = open(data::QuestionFile{});
  auto local = join(session, windows());
  EXPECT_TRUE(local.texts.value().columns().empty());
  EXPECT_EQ(local.log.num_rows(), 0);
  EXPECT_EQ(merge_results(world(), session, local).results.units.count, 3);
}

TEST_F(QuestionsTest, AWindowThatIsNotFiniteSpoilsItsQuestionAlone) {
  for (const std::size_t spoilt : {0U, 1U, 2U}) {
    auto all = windows();
    all[spoilt] = {0, kNan, kNan, false, {}};
    const auto session = open_questions();
    auto local = join(session, all);
    const auto results = merge_results(world(), session, local).results;
    EXPECT_EQ(results.counts.without_scores, 1);
    EXPECT_DOUBLE_EQ(value_of(results, "exact_match").value(), 1.0 / 3);
    EXPECT_DOUBLE_EQ(value_of(results, "f1").value(), (1 + 2.0 / 3) / 3);
  }
}

TEST_F(QuestionsTest, ATokenOutsideOfItsParagraphIsRefused) {
  auto all = windows();
  all[4].best[0].last_token = 2;
  const auto session = open_questions();
  EXPECT_THAT(refusal_of(ErrorKind::dataset, [&] { join(session, all); }),
              testing::HasSubstr(
                  "question 2 ('Ω-3') has a window with token 2 of a paragraph of 2 tokens"));
}

// Margins are 1 - 9, 5 - 1 and 1 - 4. Answering the first question alone makes two right; with the
// third one, F1 gains 2/3.
TEST_F(QuestionsTest, TheBestThresholdIsThatOfAllRanks) {
  const auto session = open_questions();
  const auto local = join(session, windows());
  metrics::Results results;
  digest::Sha256 digest;
  add_best_answers(world(), session, local, results, digest);
  EXPECT_EQ(results.metrics.size(), world().is_root() ? 2U : 0U);
  EXPECT_EQ(digest.hex() == digest::Sha256().hex(), !world().is_root());
  if (!world().is_root()) return;
  EXPECT_DOUBLE_EQ(value_of(results, "best_exact_match").value(), 2.0 / 3);
  EXPECT_EQ(results.find("best_exact_match")->threshold.value().margin, -8.0);
  EXPECT_DOUBLE_EQ(value_of(results, "best_f1").value(), (1 + 1 + 2.0 / 3) / 3);
  EXPECT_EQ(results.find("best_f1")->threshold.value().margin, -3.0);
}

TEST_F(QuestionsTest, WithoutScoresAQuestionIsWrongAtEveryThreshold) {
  auto all = windows();
  all[3] = {1, kNan, kNan, false, {}};  // saying that there is no answer were right
  const auto session = open_questions();
  const auto local = join(session, all);
  metrics::Results results;
  digest::Sha256 digest;
  add_best_answers(world(), session, local, results, digest);
  if (!world().is_root()) return;
  EXPECT_DOUBLE_EQ(value_of(results, "best_exact_match").value(), 1.0 / 3);
}

TEST_F(QuestionsTest, ThresholdsThatNobodyAskedForTakeNoMemory) {
  const auto session = open_questions({"f1"});
  const auto local = join(session, windows());
  EXPECT_TRUE(local.margins.empty());
  metrics::Results results;
  digest::Sha256 digest;
  add_best_answers(world(), session, local, results, digest);
  EXPECT_TRUE(results.metrics.empty());
}

TEST_F(QuestionsTest, OtherTasksHaveNoAnswers) {
  EXPECT_EQ(answers_of(open(data::document_file())), nullptr);
  EXPECT_EQ(answers_of(open(data::choice_file())), nullptr);
}

}  // namespace
}  // namespace tally::app
