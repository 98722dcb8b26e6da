// What the pass over a language model's scores finds at one place of a sequence. Plain data:
// kernels write it.
#pragma once

#include <cstdint>

#include <tally/metrics/multiclass_record.hpp>

namespace tally::metrics {

struct TokenRecord {
  double loss = 0;  // -log of the probability of the place's token, natural; if it has scores
  std::int32_t rank = -1;  // tokens ahead of it; of equal ones that with the smaller number
  bool scored = false;     // false: nothing was looked at
  bool finite = true;      // false: the scores hold NaN or an Inf that means nothing
};

// The vocabulary is the classes, the token the label.
constexpr TokenRecord token_row(const MulticlassRecord& row) {
  return {row.finite ? row.loss : 0.0, row.label_rank, true, row.finite};
}

}  // namespace tally::metrics
