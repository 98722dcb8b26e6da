// A question with choices and whether the right one was chosen. Plain data.
#pragma once

#include <cstdint>

namespace tally::metrics {

struct MultipleChoiceRecord {
  std::uint64_t index = 0;  // of the question
  bool ignored = false;     // --limit left some of its choices out
  bool finite = true;       // false: scores of a choice hold NaN or Inf; nothing is chosen then
  // Whether the right choice is the most likely one; the same of likelihood by character, by byte.
  bool right = false, right_by_character = false, right_by_byte = false;
};

}  // namespace tally::metrics
