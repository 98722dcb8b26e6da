// SPDX-License-Identifier: Apache-2.0
// Language models: loss, perplexities and accuracy over the tokens of all documents.
#pragma once

#include <cstdint>

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

struct LanguageModelCounters {
  std::int64_t tokens = kNotKept;  // of all documents
  std::int64_t right = kNotKept;
  std::int64_t in_top5 = kNotKept;
  // Of those that have finite scores: their tokens, and limbs of the exact float64 sum of losses.
  std::int64_t with_scores = kNotKept;
  std::int64_t loss = kNotKept;
  // Of those of them that are whole.
  std::int64_t whole_loss = kNotKept;
  std::int64_t bytes = kNotKept;
  std::int64_t words = kNotKept;

  template <class Add>
  constexpr void count_row(const LanguageModelRecord& row, const Add& add) const {
    if (tokens == kNotKept || row.tokens == 0) return;
    add(tokens, row.tokens);
    add(right, row.right);
    add(in_top5, row.in_top5);
    if (!row.finite) return;
    add(with_scores, row.tokens);
    add_to_sum(loss, row.loss, add);
    if (!row.whole) return;
    add_to_sum(whole_loss, row.loss, add);
    add(bytes, row.bytes);
    add(words, row.words);
  }
};

FamilyEntry language_model_family();

}  // namespace tally::metrics
