// SPDX-License-Identifier: Apache-2.0
#include "number_format.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace tally::report {
namespace {

TEST(NumberFormat, Grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(123456), "123,456");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(NumberFormat, Clock) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(-3), "0:00");
  EXPECT_EQ(clock_text(0.2), "0:01");
  EXPECT_EQ(clock_text(59.5), "1:00");
  EXPECT_EQ(clock_text(754), "12:34");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(std::numeric_limits<double>::infinity()), "277777:46:40");
}

TEST(NumberFormat, Values) {
  EXPECT_EQ(value_text(0.032569), "0.032569");
  EXPECT_EQ(value_text(999.9), "999.900000");
  EXPECT_EQ(value_text(12345.678), "12345.7");
  EXPECT_EQ(value_text(std::nullopt), "undefined");
  EXPECT_EQ(value_text(std::numeric_limits<double>::quiet_NaN()), "undefined");
  EXPECT_EQ(percent_text(0.9914), "99.14 %");
  EXPECT_EQ(rate_text(0.5), "0.5/s");
  EXPECT_EQ(rate_text(48210.4), "48,210/s");
  EXPECT_EQ(seconds_text(1.256), "1.26 s");
  EXPECT_EQ(seconds_text(75.4), "75 s");
  EXPECT_EQ(short_digest("0123456789abcdef0"), "0123456789abcdef");
  EXPECT_EQ(short_digest("01"), "01");
}

TEST(NumberFormat, Shares) {
  for (const char* name : {"accuracy", "accuracy_top5", "precision_macro", "recall_micro", "f1",
                           "f1_weighted", "entity_precision", "entity_f1_macro"}) {
    EXPECT_TRUE(is_share(name)) << name;
  }
  for (const char* name : {"loss", "perplexity", "f1score", "entity_", ""})
    EXPECT_FALSE(is_share(name));
}

}  // namespace
}  // namespace tally::report
