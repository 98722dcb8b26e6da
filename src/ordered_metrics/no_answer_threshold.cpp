// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/no_answer_threshold.hpp>

#include <algorithm>

namespace tally::ordered_metrics {
namespace {

// Equal margins stand in a fixed order, so that sums of doubles are the same for any order that the
// questions came in.
bool is_before(const AnswerMargin& a, const AnswerMargin& b) {
  if (a.margin != b.margin) return a.margin < b.margin;
  if (a.has_answer != b.has_answer) return a.has_answer < b.has_answer;
  if (a.exact != b.exact) return a.exact < b.exact;
  return a.f1 < b.f1;
}

// Walks the thresholds from below the smallest margin upwards. `sum` is the score of all questions
// at the threshold that is reached: at first none is answered, and each question without an answer
// counts 1; answering one adds its score and takes that 1 away.
template <class Score>
BestThreshold best_of(const std::vector<AnswerMargin>& sorted, const Score& score_of) {
  const auto is_unanswerable = [](const AnswerMargin& one) { return one.has_answer == 0; };
  double sum = static_cast<double>(std::ranges::count_if(sorted, is_unanswerable));
  double best = sum;
  std::optional<double> threshold;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += score_of(sorted[i]) - (is_unanswerable(sorted[i]) ? 1.0 : 0.0);
    // Questions of one margin change sides together, for no threshold lies between them; SQuAD's
    // v2.0 script moves them one by one.
    const bool is_last = i + 1 == sorted.size() || sorted[i + 1].margin != sorted[i].margin;
    if (!is_last || !(sum > best)) continue;
    best = sum;
    threshold = sorted[i].margin;
  }
  return {best / static_cast<double>(sorted.size()), threshold};
}

}  // namespace

BestThresholds best_thresholds(std::vector<AnswerMargin> questions) {
  std::ranges::sort(questions, is_before);
  return {best_of(questions, [](const AnswerMargin& one) { return one.exact == 1 ? 1.0 : 0.0; }),
          best_of(questions, [](const AnswerMargin& one) { return one.f1; })};
}

}  // namespace tally::ordered_metrics
