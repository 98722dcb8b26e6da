// SPDX-License-Identifier: Apache-2.0
// For comparison with other packages: reads tables, one per line (both right, only A, only B,
// neither), and prints for each the p value and the interval's ends.
#include <cstdio>
#include <iostream>

#include <tally/compare/contingency_table.hpp>

int main() {
  tally::compare::ContingencyTable table;
  while (std::cin >> table.both_right >> table.only_a_right >> table.only_b_right >>
         table.neither_right) {
    const auto interval = tally::compare::difference_interval(table);
    std::printf("%.17g %.17g %.17g\n", tally::compare::mcnemar_p_value(table),
                interval ? interval->low : -2.0, interval ? interval->high : 2.0);
  }
}
