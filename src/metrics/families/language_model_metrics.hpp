// SPDX-License-Identifier: Apache-2.0
// Language models: loss, perplexities and accuracy over the tokens of all documents; multiple
// choice: shares of questions whose right choice is the likeliest, by three measures.
#pragma once

#include <cstdint>

#include <tally/metrics/sample_records.hpp>

#include "family.hpp"

namespace tally::metrics {

struct DocumentCounters {
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

FamilyEntry document_family();

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
