// SPDX-License-Identifier: Apache-2.0
// Documents and questions with choices, for tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <tally/metrics/multiple_choice_metrics.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

// Some empty, without finite scores, or cut.
inline std::vector<LanguageModelRecord> random_documents(std::int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  std::vector<LanguageModelRecord> rows;
  for (std::int64_t i = 0; i < size; ++i) {
    LanguageModelRecord row{.index = static_cast<std::uint64_t>(i),
                            .tokens = below(8) == 0 ? 0 : 1 + below(3000),
                            .finite = below(10) > 0,
                            .whole = below(10) > 0};
    if (row.tokens == 0) row.finite = true;
    row.in_top5 = row.tokens == 0 ? 0 : below(static_cast<int>(row.tokens));
    row.right = row.in_top5 / 2;
    row.loss =
        static_cast<double>(row.tokens) * std::uniform_real_distribution<double>(0, 9)(random);
    row.bytes = row.tokens * 4 + below(3);
    row.words = row.tokens * 2 / 3 + 1;
    rows.push_back(row);
  }
  return rows;
}

inline std::vector<MultipleChoiceRecord> random_choices(std::int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MultipleChoiceRecord> rows;
  for (std::int64_t i = 0; i < size; ++i) {
    MultipleChoiceRecord row{.index = static_cast<std::uint64_t>(i),
                             .ignored = random() % 9 == 0,
                             .finite = random() % 9 > 0};
    row.right = row.finite && random() % 2 == 0;
    row.right_by_character = row.finite && random() % 3 == 0;
    row.right_by_byte = row.finite && random() % 4 == 0;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace tally::metrics
