// SPDX-License-Identifier: Apache-2.0
// McNemar's test and Newcombe's interval, against published values and what must hold.
#include <tally/compare/contingency_table.hpp>

#include <gtest/gtest.h>

#include <tuple>

namespace tally::compare {
namespace {

// Where the literature counts pairs (both, first only, second only, neither) and takes the first
// minus the second, B is the first.
ContingencyTable of_pairs(std::int64_t both, std::int64_t first, std::int64_t second,
                          std::int64_t neither) {
  return {both, second, first, neither};
}

void expect_interval(const ContingencyTable& table, double low, double high, double digits) {
  const auto interval = difference_interval(table);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->method, "newcombe");
  EXPECT_NEAR(interval->low, low, digits / 2);
  EXPECT_NEAR(interval->high, high, digits / 2);
}

TEST(Newcombe, PublishedExamples) {
  // Newcombe (1998), 36, 12, 2, 0.
  expect_interval(of_pairs(36, 12, 2, 0), 0.0569, 0.3404, 1e-4);
  // Altman, Machin, Bryant and Gardner, "Statistics with confidence" (2000), table 6.2.
  expect_interval(of_pairs(14, 5, 0, 22), 0.011, 0.226, 1e-3);
  // Fagerland, Lydersen and Laake, "Statistical analysis of contingency tables" (2017), chapter 8.
  expect_interval(of_pairs(1, 1, 7, 12), -0.507, -0.026, 1e-3);
}

TEST(Newcombe, ExchangingTheRunsMirrorsTheInterval) {
  const auto interval = difference_interval({50, 7, 13, 30});
  const auto mirrored = difference_interval({50, 13, 7, 30});
  EXPECT_DOUBLE_EQ(interval->low, -mirrored->high);
  EXPECT_DOUBLE_EQ(interval->high, -mirrored->low);
}

TEST(Newcombe, EmptyRowsAndColumns) {
  EXPECT_FALSE(difference_interval({}));
  for (const ContingencyTable table :
       {ContingencyTable{10, 0, 0, 0}, ContingencyTable{0, 10, 0, 0}, ContingencyTable{0, 0, 10, 0},
        ContingencyTable{0, 0, 0, 10}}) {
    const auto interval = difference_interval(table);
    ASSERT_TRUE(interval);
    const double difference = static_cast<double>(table.only_b_right - table.only_a_right) / 10;
    EXPECT_LE(interval->low, difference);
    EXPECT_GE(interval->high, difference);
    EXPECT_GE(interval->low, -1);
    EXPECT_LE(interval->high, 1);
  }
}

TEST(McNemar, ByHand) {
  EXPECT_EQ(mcnemar_p_value({}), 1);
  EXPECT_EQ(mcnemar_p_value({10, 0, 0, 3}), 1);
  EXPECT_EQ(mcnemar_p_value({0, 4, 4, 0}), 1);
  EXPECT_EQ(mcnemar_p_value({7, 0, 1, 9}), 1);  // 2 * 1/2
  EXPECT_DOUBLE_EQ(mcnemar_p_value({7, 0, 5, 9}), 2.0 / 32);
  EXPECT_DOUBLE_EQ(mcnemar_p_value({7, 1, 5, 9}), 2.0 * (1 + 6) / 64);
  EXPECT_EQ(mcnemar_p_value({7, 1, 5, 9}), mcnemar_p_value({7, 5, 1, 9}));
}

}  // namespace
}  // namespace tally::compare
