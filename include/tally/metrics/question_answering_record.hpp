// A question and how good its predicted answer is. Plain data.
#pragma once

#include <cstdint>

namespace tally::metrics {

struct QuestionAnsweringRecord {
  std::uint64_t index = 0;  // of the question
  bool has_answer = true;   // false: it has none, and saying so is right
  bool exact = false;
  bool finite = true;  // false: a score of one of its samples is NaN or Inf
  double f1 = 0;       // in [0, 1]
};

// A sample that is not scored by itself: it takes part in a unit, or nothing is scored.
struct SampleRecord {
  std::uint64_t index = 0;
  bool finite = true;
};

}  // namespace tally::metrics
