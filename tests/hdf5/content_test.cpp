// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include <tally/hdf5/reader.hpp>

#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Each text behind its length.
std::vector<std::byte> bytes_of_texts(const std::vector<std::string>& texts) {
  std::vector<std::byte> bytes;
  for (const std::string& text : texts) {
    const auto length = bytes_of(std::vector<std::uint64_t>{text.size()});
    bytes.insert(bytes.end(), length.begin(), length.end());
    const auto content = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), content.begin(), content.end());
  }
  return bytes;
}

// The content of the attributes of the root of a file with what `fill` writes.
std::vector<AttributeContent> attributes_of(const std::function<void(hid_t)>& fill) {
  const raw::TemporaryFolder folder;
  raw::create(folder / "a.h5", fill);
  return Reader(folder / "a.h5").content_of("/").attributes;
}

TEST(Content, NumbersAreTheSameWhateverTheirStoredType) {
  const float narrow[] = {0.5F, -2.0F};
  const double wide[] = {0.5, -2.0};
  const std::int8_t tiny = -7;
  const std::int64_t large = -7;
  const auto found = attributes_of([&](hid_t file) {
    raw::attribute(file, "/", "narrow", H5T_IEEE_F32LE, {2}, narrow);
    raw::attribute(file, "/", "wide", H5T_IEEE_F64LE, {2}, wide);
    raw::attribute(file, "/", "tiny", H5T_STD_I8LE, {}, &tiny);
    raw::attribute(file, "/", "large", H5T_STD_I64LE, {}, &large);
  });
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].name, "large");
  EXPECT_EQ(found[0].kind, "integer");
  EXPECT_EQ(found[0].shape, Shape{});
  EXPECT_EQ(found[0].bytes, bytes_of(std::vector<std::int64_t>{-7}));
  EXPECT_EQ(found[2].bytes, found[0].bytes);
  EXPECT_EQ(found[1].kind, "float");
  EXPECT_EQ(found[1].shape, Shape{2});
  EXPECT_EQ(found[1].bytes, bytes_of(std::vector<double>{0.5, -2.0}));
  EXPECT_EQ(found[3].bytes, found[1].bytes);
}

TEST(Content, TextsAreTheSameWhateverFillsThemUp) {
  const auto found = attributes_of([](hid_t file) {
    raw::text(file, "/", "null", "HWC", H5T_STR_NULLPAD);
    raw::text(file, "/", "space", "HWC", H5T_STR_SPACEPAD);
    const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(type, H5T_VARIABLE));
    const char* texts[] = {"größe", ""};
    raw::attribute(file, "/", "variable", type, {2}, texts);
    H5Tclose(type);
  });
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].kind, "string");
  EXPECT_EQ(found[0].bytes, bytes_of_texts({"HWC"}));
  EXPECT_EQ(found[1].bytes, found[0].bytes);
  EXPECT_EQ(found[2].shape, Shape{2});
  EXPECT_EQ(found[2].bytes, bytes_of_texts({"größe", ""}));
}

TEST(Content, OfOtherTypesAndWithoutExtentThereIsNone) {
  const auto found = attributes_of([](hid_t file) {
    const hid_t pair = raw::ok(H5Tcreate(H5T_COMPOUND, 8));
    raw::ok(H5Tinsert(pair, "x", 0, H5T_STD_I64LE));
    const std::int64_t value = 3;
    raw::attribute(file, "/", "compound", pair, {}, &value);
    H5Tclose(pair);
    const hid_t nothing = raw::ok(H5Screate(H5S_NULL));
    const hid_t empty =
        raw::ok(H5Acreate2(file, "empty", H5T_STD_I64LE, nothing, H5P_DEFAULT, H5P_DEFAULT));
    H5Aclose(empty);
    H5Sclose(nothing);
  });
  ASSERT_EQ(found.size(), 2U);
  for (const AttributeContent& attribute : found) {
    EXPECT_EQ(attribute.kind, "other");
    EXPECT_TRUE(attribute.bytes.empty());
  }
}

TEST(Content, DatasetsSayTypeAndShapeAlsoOfWhatIsNotRead) {
  const raw::TemporaryFolder folder;
  raw::create(folder / "a.h5", [](hid_t file) {
    const std::vector<std::int64_t> zeros(6);
    raw::dataset(file, "/deep/known", H5T_IEEE_F32LE, {2, 3}, zeros.data());
    raw::dataset(file, "/foreign", H5T_STD_I32BE, {4}, zeros.data());
  });
  const Reader file(folder / "a.h5");
  EXPECT_EQ(file.content_of("/deep").kind, ObjectKind::group);
  EXPECT_EQ(file.content_of("/deep").element, "");
  const ObjectContent known = file.content_of("/deep/known");
  EXPECT_EQ(known.kind, ObjectKind::dataset);
  EXPECT_EQ(known.element, "float32");
  EXPECT_EQ(known.shape, (Shape{2, 3}));
  EXPECT_EQ(file.content_of("/foreign").element, "other");
  EXPECT_EQ(file.content_of("/foreign").shape, Shape{4});
}

}  // namespace
}  // namespace tally::hdf5
