// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include <tally/base/printable.hpp>

namespace tally {
namespace {

TEST(Printable, KeepsTextAndEscapesWhatSteersATerminal) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("grüße 日本 🙂 a'b\"c\\d"), "grüße 日本 🙂 a'b\"c\\d");
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // C1: the one-character escape sequence
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
}

TEST(Printable, EscapesWhatReordersText) {
  for (const std::string c :
       {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_EQ(printable("a" + c + "b").substr(0, 5), "a\\xe2") << c;
  }
  EXPECT_EQ(printable("gpj.\u202e"), "gpj.\\xe2\\x80\\xae");
  for (const std::string c : {"\u2029", "\u202f", "\u2065", "\u206a", "\U0001202e"}) {
    EXPECT_EQ(printable(c), c);
  }
}

TEST(Printable, KeepsTheLinesOfAText) {
  EXPECT_EQ(printable_lines(""), "");
  EXPECT_EQ(printable_lines("a\n\n b\x1b\r\nc"), "a\n\n b\\x1b\\x0d\nc");
}

TEST(Printable, JsonStaysTheSameJson) {
  EXPECT_EQ(printable_json("{\n  \"größe\": \"\\u001b\"\n}\n"), "{\n  \"größe\": \"\\u001b\"\n}\n");
  EXPECT_EQ(printable_json("\"\u009b \x7f \u202e\""), R"("\u009b \u007f \u202e")");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                             // cut short
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xe0\x80\x80"), "\\xe0\\x80\\x80");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

TEST(Printable, IsItsOwnFixedPoint) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string once = printable(text);
    EXPECT_EQ(printable(once), once);
  }
}

}  // namespace
}  // namespace tally
