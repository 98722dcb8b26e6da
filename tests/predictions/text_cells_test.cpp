// SPDX-License-Identifier: Apache-2.0
#include "text_cells.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

namespace tally::predictions {
namespace {

template <class T>
std::string text_of(hdf5::Element element, T value) {
  return value_text(element, reinterpret_cast<const std::byte*>(&value));
}

TEST(ValueText, HasTheLeastAndGreatestOfEachType) {
  using hdf5::Element;
  EXPECT_EQ(text_of(Element::u8, std::uint8_t{255}), "255");
  EXPECT_EQ(text_of(Element::i8, std::int8_t{-128}), "-128");
  EXPECT_EQ(text_of(Element::u16, std::uint16_t{65535}), "65535");
  EXPECT_EQ(text_of(Element::i16, std::int16_t{-32768}), "-32768");
  EXPECT_EQ(text_of(Element::u32, std::uint32_t{4294967295}), "4294967295");
  EXPECT_EQ(text_of(Element::i32, std::int32_t{-2147483647} - 1), "-2147483648");
  EXPECT_EQ(text_of(Element::u64, ~std::uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(text_of(Element::i64, std::int64_t{-9007199254740993}), "-9007199254740993");
  EXPECT_EQ(text_of(Element::f32, 0.1F), "0.1");
  EXPECT_EQ(text_of(Element::f64, 1e300), "1e+300");
  EXPECT_EQ(text_of(Element::text, 'x'), "text");
}

TEST(RowText, BeginsAtAnyByteOfTheBuffer) {
  std::vector<std::byte> bytes(1 + 3 * sizeof(float));
  const std::vector<float> values{1, 2.5, -3};
  std::memcpy(bytes.data() + 1, values.data(), 3 * sizeof(float));
  hdf5::DatasetInfo info;
  info.element = hdf5::Element::f32;
  info.shape = {1, 3};
  EXPECT_EQ(row_text(info, bytes.data() + 1), "[1, 2.5, -3]");
  info.shape = {1};
  EXPECT_EQ(row_text(info, bytes.data() + 1), "1");
}

// Characters count by the columns that they take on a terminal, and columns may be of different
// heights.
TEST(AddTable, AlignsColumns) {
  std::vector<std::string> lines;
  add_table(lines, "rows:", {{"name", "é", "日本"}, {"n", "1"}});
  EXPECT_THAT(lines, testing::ElementsAre("rows:", "  name  n", "  é     1", "  日本"));
  lines.clear();
  add_table(lines, "rows:", {});
  EXPECT_THAT(lines, testing::IsEmpty());
}

}  // namespace
}  // namespace tally::predictions
