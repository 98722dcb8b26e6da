// SPDX-License-Identifier: Apache-2.0
// Finds what the best of all thresholds would give in question answering where a question may have
// no answer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tally::ordered_metrics {

// A question. It is answered where its margin is at most the threshold.
struct AnswerMargin {
  double margin = 0;       // score for no answer, less that of the best span
  double f1 = 0;           // of the best span
  std::int32_t exact = 0;  // 1: the best span is right
  std::int32_t has_answer = 0;
};

struct BestThreshold {
  double value = 0;                 // a share of the questions
  std::optional<double> threshold;  // the least that gives it; none: no question is answered
};

struct BestThresholds {
  BestThreshold exact_match, f1;
};

// At least one question, in any order; equal margins change sides together. A question that
// is not answered counts 1 if it has no answer, else 0. Of equal values the smaller threshold.
BestThresholds best_thresholds(std::vector<AnswerMargin> questions);

}  // namespace tally::ordered_metrics
