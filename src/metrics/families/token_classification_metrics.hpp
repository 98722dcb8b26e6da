// SPDX-License-Identifier: Apache-2.0
// Counts tokens that are classified one by one, and the entities that their classes name.
#pragma once

#include <cstdint>

#include <tally/metrics/token_classification_record.hpp>

#include "family.hpp"

namespace tally::metrics {

struct TokenClassificationCounters {
  std::int64_t tokens = kNotKept;
  std::int64_t right = kNotKept;
  // Of sequences that have finite scores: their tokens, and limbs of the exact float64 sum of
  // losses.
  std::int64_t with_scores = kNotKept;
  std::int64_t loss = kNotKept;

  template <class Add>
  constexpr void count_row(const TokenClassificationRecord& row, const Add& add) const {
    if (tokens == kNotKept || row.tokens() == 0) return;
    add(tokens, row.tokens());
    for (std::size_t i = 0; i < row.labels.size(); ++i) {
      if (row.labels[i] == row.predictions[i]) add(right, 1);
    }
    if (!row.finite) return;
    add(with_scores, row.tokens());
    add_to_sum(loss, row.loss, add);
  }
};

struct EntityCounters {
  std::int64_t support = kNotKept;  // [types] each
  std::int64_t predicted = kNotKept;
  std::int64_t correct = kNotKept;

  template <class Add>
  constexpr void count_row(const TokenClassificationRecord& row, const Add& add) const {
    if (support == kNotKept) return;
    for (const EntityRecord& entity : row.entities) {
      if (entity.is_labelled) add(support + entity.type, 1);
      if (entity.is_predicted) add(predicted + entity.type, 1);
      if (entity.is_labelled && entity.is_predicted) add(correct + entity.type, 1);
    }
  }
};

FamilyEntry token_accuracy_family();
// Made of no counts where class names name no entities.
FamilyEntry entity_family();

}  // namespace tally::metrics
