// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include <tally/base/parse_number.hpp>

namespace tally {
namespace {

TEST(ParseNumber, ReadsWhatTheWholeTextIs) {
  EXPECT_EQ(parse_number<int>("-17"), -17);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parse_number<double>("2.5e-1"), 0.25);
}

TEST(ParseNumber, ReadsNothingElse) {
  for (const std::string_view text : {"", " 1", "1 ", "+1", "1x", "x"}) {
    EXPECT_FALSE(parse_number<int>(text)) << text;
    EXPECT_FALSE(parse_number<double>(text)) << text;
  }
  EXPECT_FALSE(parse_number<int>("1.0"));
  EXPECT_FALSE(parse_number<int>("2147483648"));
  EXPECT_FALSE(parse_number<double>("1e999"));
}

}  // namespace
}  // namespace tally
