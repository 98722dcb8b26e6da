// SPDX-License-Identifier: Apache-2.0
// Question answering: exact match and F1, over all questions and over those with and without an
// answer.
#pragma once

#include <array>
#include <cstdint>

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

// Of the questions that have an answer, and of those that have none: how many they are, how many
// are matched exactly, and the float64 sum of their F1.
struct QuestionAnsweringCounters {
  struct Kind {
    std::int64_t count = kNotKept;
    std::int64_t exact = kNotKept;
    std::int64_t f1 = kNotKept;
  };
  Kind with_answer, without_answer;

  template <class Add>
  constexpr void count_row(const QuestionAnsweringRecord& row, const Add& add) const {
    const Kind& kind = row.has_answer ? with_answer : without_answer;
    if (kind.count == kNotKept) return;
    add(kind.count, 1);
    if (row.exact) add(kind.exact, 1);
    add_to_sum(kind.f1, row.f1, add);
  }
};

FamilyEntry answer_family();
// Made of all questions' margins, after the loop.
FamilyEntry best_answer_family();

}  // namespace tally::metrics
