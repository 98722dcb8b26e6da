// SPDX-License-Identifier: Apache-2.0
// Answers to questions, for tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

// With and without an answer, some without finite scores. F1 is a fraction of words, as it is in
// earnest, or of many digits.
inline std::vector<QuestionAnsweringRecord> random_answers(std::int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  std::vector<QuestionAnsweringRecord> rows;
  for (std::int64_t i = 0; i < size; ++i) {
    QuestionAnsweringRecord row{.index = static_cast<std::uint64_t>(i),
                                .has_answer = below(3) > 0,
                                .exact = below(2) > 0,
                                .finite = below(10) > 0};
    const int words = 1 + below(9);
    if (row.exact)
      row.f1 = 1;
    else
      row.f1 = below(2) > 0 ? static_cast<double>(below(words)) / words
                            : std::uniform_real_distribution<double>()(random);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace tally::metrics
