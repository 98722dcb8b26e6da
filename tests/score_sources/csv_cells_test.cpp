// SPDX-License-Identifier: Apache-2.0
// Cells of CSV, and decimal numbers as float32: those of the C library's strtof().
#include "csv_cells.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>

#include <tally/base/format.hpp>

#include "mutator.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> found;
  NumberCells cells(line);
  while (const auto cell = cells.next()) found.emplace_back(*cell);
  return found;
}

TEST(CsvNumberTest, NineDigitsGiveTheSameFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const std::string text = format("{:.9g}", value);
    ASSERT_EQ(bits_of(csv_number(text).value()), bits_of(value)) << text;
  }
}

TEST(CsvNumberTest, ANumberIsTheNearestFloat) {
  for (const char* text :
       {"0", "-0", "1", "+1", "-2.5", ".5", "5.", "1e3", "1E-3", "+1e+3", "0.1", "16777217",
        "3.4028235e38", "1e-45", "7e-46", "1e-60", "-1e-60", "1e-400", "-1e-400", "1.17549435e-38",
        // Rounded to a double first, it would lie half-way between two floats.
        "1.00000017881393421514957253748434595763683319091796875"}) {
    const auto found = csv_number(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(bits_of(*found), bits_of(std::strtof(text, nullptr))) << text;
  }
  for (const char* text : {"inf", "Inf", "-INF", "infinity"}) {
    EXPECT_TRUE(std::isinf(csv_number(text).value())) << text;
  }
  for (const char* text : {"nan", "NaN", "-nan"}) EXPECT_TRUE(std::isnan(csv_number(text).value()));
}

TEST(CsvNumberTest, WhatIsNoNumberOf32BitsIsNone) {
  for (const std::string text : {"", "+", "-", "+-1", "++1", "a", "1a", "1 2", "0x10", "1e", "1e39",
                                 "-1e60", "1e400", "3.5e38", "1,5", "1_000", "None"}) {
    EXPECT_EQ(csv_number(text), std::nullopt) << text;
  }
  EXPECT_EQ(csv_number("0." + std::string(62, '1')).has_value(), true);
  EXPECT_EQ(csv_number("0." + std::string(63, '1')), std::nullopt);
}

TEST(NumberCellsTest, CommasStandBetweenCells) {
  EXPECT_THAT(cells_of("1,2.5,-3"), ElementsAre("1", "2.5", "-3"));
  EXPECT_THAT(cells_of(" 1 ,\t2,3\r"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(cells_of(R"("1","2", "3 " )"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(cells_of("1"), ElementsAre("1"));
  EXPECT_THAT(cells_of("1,"), ElementsAre("1", ""));
  EXPECT_THAT(cells_of(",1"), ElementsAre("", "1"));
  EXPECT_THAT(cells_of(R"("1,5",2)"), ElementsAre("\"1", "5\"", "2")) << "which are no numbers";
  EXPECT_THAT(cells_of("\""), ElementsAre("\""));
}

TEST(CsvTextsTest, QuotesKeepCommas) {
  EXPECT_THAT(csv_texts("a,b c, d ").value(), ElementsAre("a", "b c", "d"));
  EXPECT_THAT(csv_texts(R"("a, b","say ""so""", "c" )").value(),
              ElementsAre("a, b", "say \"so\"", "c"));
  EXPECT_THAT(csv_texts("a,").value(), ElementsAre("a", ""));
  EXPECT_THAT(csv_texts(R"("")").value(), ElementsAre(""));
  for (const char* broken : {R"("a)", R"("a"b,c)", R"(a,"b"")", R"(")"}) {
    EXPECT_EQ(csv_texts(broken), std::nullopt) << broken;
  }
}

TEST(CsvIntegerTest, HasNoFraction) {
  EXPECT_EQ(csv_integer("17"), 17);
  EXPECT_EQ(csv_integer("-1"), -1);
  EXPECT_EQ(csv_integer("+3"), 3);
  EXPECT_EQ(csv_integer("9223372036854775807"), INT64_MAX);
  for (const char* other : {"", "3.0", "1e2", "9223372036854775808", "cat", "+-1", "1 2"}) {
    EXPECT_EQ(csv_integer(other), std::nullopt) << other;
  }
}

TEST(CsvTextsTest, DamagedLinesHaveCellsOrNone) {
  Mutator mutator(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto line = mutator.damage(R"(index,"a ""b"", c",-1.25e-3,"nan", +7 ,inf)");
    const auto texts = csv_texts(line);
    if (texts) {
      EXPECT_LE(texts->size(), line.size() + 1);
    }
    for (const auto& cell : cells_of(line)) {
      const auto number = csv_number(cell);
      if (number && std::isfinite(*number) && cell.size() < 20) {
        EXPECT_EQ(bits_of(*number), bits_of(std::strtof(cell.c_str(), nullptr))) << cell;
      }
    }
  }
}

}  // namespace
}  // namespace tally::app
