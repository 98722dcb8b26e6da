// SPDX-License-Identifier: Apache-2.0
// Counts questions of multiple choice whose right choice is the likeliest, by three measures.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/metrics/metric_set.hpp>

namespace tally::metrics {

// A question with choices and whether the right one was chosen. Plain data.
struct MultipleChoiceRecord {
  std::uint64_t index = 0;  // of the question
  bool ignored = false;     // --limit left some of its choices out
  bool finite = true;       // false: scores of a choice hold NaN or Inf; nothing is chosen then
  // Whether the right choice is the most likely one; the same of likelihood by character, by byte.
  bool right = false, right_by_character = false, right_by_byte = false;
};

// Where their counts lie in a State, and what a question adds to them.
struct MultipleChoiceCounters {
  std::int64_t right = kNotKept;
  std::int64_t right_by_character = kNotKept;
  std::int64_t right_by_byte = kNotKept;

  template <class Add>
  constexpr void count_row(const MultipleChoiceRecord& row, const Add& add) const {
    if (right == kNotKept || row.ignored) return;
    if (row.right) add(right, 1);
    if (row.right_by_character) add(right_by_character, 1);
    if (row.right_by_byte) add(right_by_byte, 1);
  }
};

struct FamilyEntry;
// All families of the task, for the registry.
std::vector<FamilyEntry> multiple_choice_families();

}  // namespace tally::metrics
