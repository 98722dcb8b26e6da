// SPDX-License-Identifier: Apache-2.0
// Counts for two runs over the same samples in which of them each sample is right, and tests by
// these counts whether the runs differ.
#pragma once

#include <cstdint>
#include <optional>

#include <tally/metrics/intervals.hpp>

namespace tally::compare {

struct ContingencyTable {
  std::int64_t both_right = 0;
  std::int64_t only_a_right = 0;
  std::int64_t only_b_right = 0;
  std::int64_t neither_right = 0;

  // One sample.
  void add(bool right_in_a, bool right_in_b) {
    if (right_in_a) {
      ++(right_in_b ? both_right : only_a_right);
    } else {
      ++(right_in_b ? only_b_right : neither_right);
    }
  }
  std::int64_t total() const { return both_right + only_a_right + only_b_right + neither_right; }
};

// McNemar's test (1947), two-sided and exact: the probability that, of the samples on which the
// runs differ, at least as unequal parts go to either side if both are equally likely to have them
// (binomial, 1/2). 1 if they differ on none.
double mcnemar_p_value(const ContingencyTable& table);

// 95 % interval of the difference of accuracies, B - A: Newcombe's of Wilson's intervals for paired
// proportions ("Improved confidence intervals for the difference between binomial proportions based
// on paired data", Statistics in Medicine 17, 1998, method 10). none for an empty table.
std::optional<metrics::Interval> difference_interval(const ContingencyTable& table);

}  // namespace tally::compare
