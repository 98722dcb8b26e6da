// Multiple choice: shares of questions whose right choice is the likeliest, by three measures.
#pragma once

#include <cstdint>

#include <tally/metrics/multiple_choice_record.hpp>

#include "counters.hpp"
#include "family.hpp"

namespace tally::metrics {

struct ChoiceCounters {
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

FamilyEntry choice_family();

}  // namespace tally::metrics
