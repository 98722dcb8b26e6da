// A document and how well a language model predicted its tokens. Plain data.
#pragma once

#include <cstdint>

namespace tally::metrics {

struct LanguageModelRecord {
  std::uint64_t index = 0;   // of the document
  std::int64_t tokens = 0;   // that are scored; 0: the document is ignored
  std::int64_t right = 0;    // predicted correctly; none without finite scores
  std::int64_t in_top5 = 0;  // the same among the five most likely
  double loss = 0;           // sum over the tokens of -log(probability); void where not finite
  std::int64_t bytes = 0, words = 0;  // of its text
  bool finite = true;                 // false: scores of a token hold NaN or Inf
  bool whole = true;                  // false: --limit left some of its tokens out
};

}  // namespace tally::metrics
