// SPDX-License-Identifier: Apache-2.0
// Byte sizes, and what a refused value leaves behind.
#include "option_bindings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tally::config {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(ByteSize, TakesPlainNumbersAndUnits) {
  const std::vector<std::pair<std::string_view, std::int64_t>> cases{
      {"0", 0},
      {"65536", 65536},
      {"1B", 1},
      {"64KiB", 65536},
      {"64MiB", 67108864},
      {"1GiB", 1073741824},
      {"1 GiB", 1073741824},
      {"2TiB", std::int64_t{2} << 40},
      {"3kB", 3000},
      {"3KB", 3000},
      {"3MB", 3000000},
      {"3GB", 3000000000},
      {"3TB", 3000000000000},
      {"9223372036854775807", kMax}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes(text), bytes) << text;
}

TEST(ByteSize, RefusesAllElse) {
  for (const std::string_view text :
       {"", " ", "MiB", "-1", "+1", "1.5GiB", "64M", "64mib", "64MiBs", "64MiB 1", " 64MiB", "0x10",
        "9223372036854775808", "8388608TiB", "9223372036854775807KiB"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(ByteSize, TextComesBack) {
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, std::int64_t{1024},
        std::int64_t{1536}, std::int64_t{1} << 20, std::int64_t{3} << 30, std::int64_t{1000000000},
        std::int64_t{1} << 62, kMax}) {
    EXPECT_EQ(parse_bytes(bytes_text(bytes)), bytes) << bytes_text(bytes);
  }
  EXPECT_EQ(bytes_text(64 << 20), "64MiB");
  EXPECT_EQ(bytes_text(1536), "1536");
}

TEST(Binding, ARefusedValueLeavesTheFieldAlone) {
  int number = 5;
  std::string word = "cpu";
  std::vector<std::string> list{"a"};
  EXPECT_TRUE(whole_number(number, 1, 8).set("9").has_value());
  EXPECT_TRUE(one_of(word, {"cpu"}).set("tpu").has_value());
  EXPECT_TRUE(name_list(list).set("b,b").has_value());
  EXPECT_EQ(number, 5);
  EXPECT_EQ(word, "cpu");
  EXPECT_THAT(list, ::testing::ElementsAre("a"));
}

TEST(Binding, AWordMayStandForANumber) {
  int field = 5;
  const Binding binding = or_word("auto", 0, field, whole_number(field, 1, 8));
  for (const std::string_view wrong : {"0", "9", "-1", "Auto", "", "1.5"}) {
    EXPECT_EQ(binding.set(wrong), "a whole number from 1 to 8 or 'auto'") << wrong;
  }
  EXPECT_EQ(binding.text(), "5");
  EXPECT_FALSE(binding.set("auto").has_value());
  EXPECT_EQ(field, 0);
  EXPECT_EQ(binding.text(), "auto");
  EXPECT_FALSE(binding.set("8").has_value());
  EXPECT_EQ(field, 8);
}

TEST(Binding, FlagTakesTheUsualWords) {
  bool field = false;
  const Binding binding = flag(field);
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    field = false;
    EXPECT_FALSE(binding.set(yes).has_value());
    EXPECT_TRUE(field) << yes;
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    field = true;
    EXPECT_FALSE(binding.set(no).has_value());
    EXPECT_FALSE(field) << no;
  }
  EXPECT_TRUE(binding.set("True").has_value());
}

}  // namespace
}  // namespace tally::config
