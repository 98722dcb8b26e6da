// SPDX-License-Identifier: Apache-2.0
// The best threshold for no answer, against trying every one of them.
#include <tally/ordered_metrics/no_answer_threshold.hpp>

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace tally::ordered_metrics {
namespace {

double exact_at(const std::vector<AnswerMargin>& questions, double threshold) {
  int right = 0;
  for (const AnswerMargin& one : questions) {
    right += one.margin <= threshold ? one.exact : 1 - one.has_answer;
  }
  return right / static_cast<double>(questions.size());
}

double f1_at(const std::vector<AnswerMargin>& questions, double threshold) {
  double sum = 0;
  for (const AnswerMargin& one : questions) {
    sum += one.margin <= threshold ? one.f1 : 1.0 - one.has_answer;
  }
  return sum / static_cast<double>(questions.size());
}

std::vector<AnswerMargin> some_questions(std::mt19937& random) {
  std::vector<AnswerMargin> questions(1 + random() % 30);
  for (AnswerMargin& one : questions) {
    one.margin = static_cast<int>(random() % 11) - 5;  // many are equal
    one.has_answer = static_cast<std::int32_t>(random() % 2);
    one.exact = one.has_answer == 1 ? static_cast<std::int32_t>(random() % 2) : 0;
    one.f1 = one.exact == 1 ? 1.0 : one.has_answer * 0.25 * static_cast<double>(random() % 4);
  }
  return questions;
}

TEST(AnswerThresholdsTest, AreTheBestOfAll) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const auto questions = some_questions(random);
    const BestThresholds found = best_thresholds(questions);
    double exact = exact_at(questions, -100), f1 = f1_at(questions, -100);
    for (int threshold = -5; threshold <= 5; ++threshold) {
      exact = std::max(exact, exact_at(questions, threshold));
      f1 = std::max(f1, f1_at(questions, threshold));
    }
    EXPECT_DOUBLE_EQ(found.exact_match.value, exact);
    EXPECT_DOUBLE_EQ(found.f1.value, f1);
    EXPECT_DOUBLE_EQ(exact_at(questions, found.exact_match.threshold.value_or(-100)), exact);
    EXPECT_DOUBLE_EQ(f1_at(questions, found.f1.threshold.value_or(-100)), f1);
  }
}

TEST(AnswerThresholdsTest, DoNotDependOnTheOrder) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    auto questions = some_questions(random);
    for (AnswerMargin& one : questions) one.f1 /= 3;
    const BestThresholds found = best_thresholds(questions);
    std::ranges::shuffle(questions, random);
    EXPECT_EQ(best_thresholds(questions).f1.value, found.f1.value);
    EXPECT_EQ(best_thresholds(questions).f1.threshold, found.f1.threshold);
  }
}

TEST(AnswerThresholdsTest, NoThresholdWhereNothingIsWorthAnswering) {
  const BestThresholds found = best_thresholds({{1.0, 0.0, 0, 0}, {-1.0, 0.0, 0, 1}});
  EXPECT_EQ(found.exact_match.value, 0.5);
  EXPECT_FALSE(found.exact_match.threshold);
  EXPECT_EQ(best_thresholds({{2.5, 0.5, 0, 1}}).f1.threshold, 2.5);
}

}  // namespace
}  // namespace tally::ordered_metrics
