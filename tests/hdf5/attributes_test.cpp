// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

class Attributes : public testing::Test {
 protected:
  Reader file_with(const std::function<void(hid_t)>& fill) {
    const auto path = folder_ / "a.h5";
    raw::create(path, fill);
    return Reader(path);
  }
  template <class Action>
  void refused(const std::vector<std::string>& parts, Action&& action) {
    expect_error(ErrorKind::dataset, parts, std::forward<Action>(action));
  }

  raw::TemporaryFolder folder_;
};

TEST_F(Attributes, IntegersOfEveryStandardTypeAreReadAsInt64) {
  const Reader file = file_with([](hid_t id) {
    const std::int8_t tiny = -7;
    const std::int32_t big_endian = 0x04030201;  // its bytes, read backwards
    const std::uint64_t large = std::numeric_limits<std::int64_t>::max();
    raw::attribute(id, "/", "tiny", H5T_STD_I8LE, {}, &tiny);
    raw::attribute(id, "/", "one", H5T_STD_U64LE, {1}, &large);
    const hid_t type = H5T_STD_I32BE;
    const hid_t target = raw::ok(H5Oopen(id, "/", H5P_DEFAULT));
    const hid_t space = raw::space({});
    const hid_t attribute =
        raw::ok(H5Acreate2(target, "big", type, space, H5P_DEFAULT, H5P_DEFAULT));
    raw::ok(H5Awrite(attribute, H5T_NATIVE_INT32, &big_endian));
    H5Aclose(attribute);
    H5Sclose(space);
    H5Oclose(target);
  });
  EXPECT_EQ(file.int64_attribute("/", "tiny"), -7);
  EXPECT_EQ(file.int64_attribute("/", "big"), 0x04030201);
  EXPECT_EQ(file.int64_attribute("/", "one"), std::numeric_limits<std::int64_t>::max());
}

TEST_F(Attributes, WhatIsNoIntegerIsRefusedByName) {
  const Reader file = file_with([](hid_t id) {
    const double real = 1.0;
    const std::uint64_t too_large = std::uint64_t{1} << 63;
    const std::int64_t two[] = {1, 2};
    raw::attribute(id, "/", "real", H5T_IEEE_F64LE, {}, &real);
    raw::attribute(id, "/", "large", H5T_STD_U64LE, {}, &too_large);
    raw::attribute(id, "/", "two", H5T_STD_I64LE, {2}, two);
    raw::text(id, "/", "text", "1");
  });
  refused({"a.h5'", "'real' is float64", "integer"}, [&] { file.int64_attribute("/", "real"); });
  refused({"'large'", "below 2^63"}, [&] { file.int64_attribute("/", "large"); });
  refused({"'two' is int64[2]", "one integer"}, [&] { file.int64_attribute("/", "two"); });
  EXPECT_EQ(file.int64s_attribute("/", "two"), (std::vector<std::int64_t>{1, 2}));
  refused({"'text' is string", "integers"}, [&] { file.int64s_attribute("/", "text"); });
  refused({"'large'", "below 2^63"}, [&] { file.int64s_attribute("/", "large"); });
  refused({"'text' is string"}, [&] { file.int64_attribute("/", "text"); });
  refused({"/ has no attribute 'absent'"}, [&] { file.int64_attribute("/", "absent"); });
  refused({"/nothing is missing"}, [&] { file.int64_attribute("/nothing", "a"); });
}

TEST_F(Attributes, DoublesAreReadFromBothWidthsAndRefusedElsewhere) {
  const Reader file = file_with([](hid_t id) {
    const float narrow[] = {0.5F, 0.25F};
    const double wide = 0.1;
    const std::int64_t integer = 3;
    raw::attribute(id, "/", "narrow", H5T_IEEE_F32LE, {2}, narrow);
    raw::attribute(id, "/", "wide", H5T_IEEE_F64LE, {}, &wide);
    raw::attribute(id, "/", "integer", H5T_STD_I64LE, {}, &integer);
    const double square[] = {1, 2, 3, 4};
    raw::attribute(id, "/", "square", H5T_IEEE_F64LE, {2, 2}, square);
  });
  EXPECT_EQ(file.doubles_attribute("/", "narrow"), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(file.double_attribute("/", "wide"), 0.1);
  refused({"has 2 values, expected 1"}, [&] { file.double_attribute("/", "narrow"); });
  refused({"'integer' is int64, expected float64"}, [&] { file.double_attribute("/", "integer"); });
  refused({"'square'"}, [&] { file.doubles_attribute("/", "square"); });
}

TEST_F(Attributes, StringsOfEveryStorageLoseTheirPadding) {
  const Reader file = file_with([](hid_t id) {
    raw::text(id, "/", "null", "HWC", H5T_STR_NULLPAD);
    raw::text(id, "/", "space", "RGB", H5T_STR_SPACEPAD);
    raw::text(id, "/", "exact", "abcd", H5T_STR_NULLPAD, 4);
    raw::text(id, "/", "empty", "");
    const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(type, H5T_VARIABLE));
    const char* value = "größe";
    raw::attribute(id, "/", "variable", type, {}, &value);
    const char* two[] = {"a", "b"};
    raw::attribute(id, "/", "two", type, {2}, two);
    H5Tclose(type);
  });
  EXPECT_EQ(file.string_attribute("/", "null"), "HWC");
  EXPECT_EQ(file.string_attribute("/", "space"), "RGB");
  EXPECT_EQ(file.string_attribute("/", "exact"), "abcd");
  EXPECT_EQ(file.string_attribute("/", "empty"), "");
  EXPECT_EQ(file.string_attribute("/", "variable"), "größe");
  refused({"'two' is string[2], expected one string"}, [&] { file.string_attribute("/", "two"); });
}

TEST_F(Attributes, AreListedAndShownOnOneLine) {
  const Reader file = file_with([](hid_t id) {
    const std::int64_t count = 12;
    const double values[] = {0.5, 2.0};
    const std::int64_t many[] = {1, 2, 3};
    raw::attribute(id, "/", "b", H5T_STD_I64LE, {}, &count);
    raw::attribute(id, "/", "a", H5T_IEEE_F64LE, {2}, values);
    raw::attribute(id, "/", "c", H5T_STD_I64LE, {3}, many);
    raw::text(id, "/", "d", "from\nhere");
  });
  EXPECT_EQ(file.attribute_names("/"), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_TRUE(file.has_attribute("/", "a"));
  EXPECT_FALSE(file.has_attribute("/", "e"));
  EXPECT_EQ(file.attribute_text("/", "a"), "0.5, 2");
  EXPECT_EQ(file.attribute_text("/", "b"), "12");
  EXPECT_EQ(file.attribute_text("/", "c"), "int64[3]");
  EXPECT_EQ(file.attribute_text("/", "d"), "from\\x0ahere");
}

TEST_F(Attributes, AnIntegerThatIsTooLargeIsShown) {
  const Reader file = file_with([](hid_t id) {
    const std::uint64_t large = (std::uint64_t{1} << 63) + 5;
    const std::int64_t small = -5;
    raw::attribute(id, "/", "large", H5T_STD_U64LE, {}, &large);
    raw::attribute(id, "/", "small", H5T_STD_I64LE, {}, &small);
  });
  EXPECT_EQ(file.attribute_text("/", "large"), "9223372036854775813");
  EXPECT_EQ(file.attribute_text("/", "small"), "-5");
}

// A list of the same text of variable length.
void repeated_text(hid_t id, const char* name, std::size_t count, const std::string& text) {
  const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
  raw::ok(H5Tset_size(type, H5T_VARIABLE));
  const std::vector<const char*> texts(count, text.c_str());
  raw::attribute(id, "/", name, type, {count}, texts.data());
  raw::ok(H5Tclose(type));
}

TEST_F(Attributes, TextsOfVariableLengthAreBounded) {
  const auto content = [&](const char* name, std::size_t count, const std::string& text) {
    raw::create(folder_ / name, [&](hid_t id) { repeated_text(id, name, count, text); });
    return Reader(folder_ / name).content_of("/").attributes.at(0);
  };
  const std::string long_text(64U << 10, 'x');
  EXPECT_EQ(content("most", 1024, "x").shape, (Shape{1024}));
  refused({"'many' is string[1025], expected at most 1024 texts of variable length"},
          [&] { content("many", 1025, "x"); });
  EXPECT_EQ(content("as long", 16, long_text).shape, (Shape{16}));
  refused({"'longer' is string[17], expected shorter strings"},
          [&] { content("longer", 17, long_text); });
}

TEST_F(Attributes, TheirNumberIsBounded) {
  constexpr int kMost = 4096;
  const auto fill = [](hid_t id, int first, int end) {
    const hid_t extent = raw::space({});
    for (int i = first; i < end; ++i) {
      raw::ok(H5Aclose(raw::ok(H5Acreate2(id, std::to_string(i).c_str(), H5T_STD_I8LE, extent,
                                          H5P_DEFAULT, H5P_DEFAULT))));
    }
    raw::ok(H5Sclose(extent));
  };
  file_with([&](hid_t id) { fill(id, 0, kMost); });
  EXPECT_EQ(Reader(folder_ / "a.h5").attribute_names("/").size(), 4096U);
  raw::edit(folder_ / "a.h5", [&](hid_t id) { fill(id, kMost, kMost + 1); });
  refused({"/ has more than 4096 attributes"},
          [&] { Reader(folder_ / "a.h5").attribute_names("/"); });
}

}  // namespace
}  // namespace tally::hdf5
