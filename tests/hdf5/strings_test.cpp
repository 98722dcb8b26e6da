// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

using Names = std::vector<std::string>;

TEST(Strings, AreReadFromEveryStorage) {
  const raw::TemporaryFolder folder;
  raw::create(folder / "a.h5", [](hid_t file) {
    const hid_t fixed = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(fixed, 4));
    raw::ok(H5Tset_strpad(fixed, H5T_STR_NULLPAD));
    raw::dataset(file, "/null", fixed, {3}, "cat\0owl\0bear");
    raw::ok(H5Tset_strpad(fixed, H5T_STR_SPACEPAD));
    raw::dataset(file, "/space", fixed, {3}, "cat owl     ");
    const hid_t variable = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(variable, H5T_VARIABLE));
    const char* texts[] = {"", "größer", "a longer name"};
    raw::dataset(file, "/variable", variable, {3}, texts);
    raw::dataset(file, "/none", variable, {0}, nullptr);
    H5Tclose(variable);
    H5Tclose(fixed);
  });
  const Reader file(folder / "a.h5");
  EXPECT_EQ(file.dataset("/null").read_strings(), (Names{"cat", "owl", "bear"}));
  EXPECT_EQ(file.dataset("/space").read_strings(), (Names{"cat", "owl", ""}));
  EXPECT_EQ(file.dataset("/variable").read_strings(), (Names{"", "größer", "a longer name"}));
  EXPECT_TRUE(file.dataset("/none").read_strings().empty());
  EXPECT_EQ(file.dataset("/null").info().element, Element::text);
  std::vector<std::byte> out(100);
  expect_error(ErrorKind::dataset, {"/null holds texts, expected numbers"},
               [&] { file.dataset("/null").read_rows(0, 1, out); });
}

TEST(Strings, ManyElementsThatShareOneTextAreRefused) {
  const raw::TemporaryFolder folder;
  constexpr hsize_t kCount = 200;
  raw::create(folder / "a.h5", [](hid_t file) {
    const hid_t variable = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(variable, H5T_VARIABLE));
    const std::string shared(20'000, 'x');
    std::vector<const char*> texts(kCount, "y");
    texts[0] = shared.c_str();
    raw::dataset(file, "/x", variable, {kCount}, texts.data());
    H5Tclose(variable);
  });
  // Every reference is made a copy of the first: 16 bytes each, length and place in the heap.
  const std::int64_t at = Reader(folder / "a.h5").dataset("/x").info().offset;
  std::FILE* bytes = std::fopen((folder / "a.h5").c_str(), "r+b");
  ASSERT_NE(bytes, nullptr);
  char reference[16];
  std::fseek(bytes, at, SEEK_SET);
  ASSERT_EQ(std::fread(reference, sizeof reference, 1, bytes), 1U);
  std::fseek(bytes, at, SEEK_SET);
  for (hsize_t i = 0; i < kCount; ++i) std::fwrite(reference, sizeof reference, 1, bytes);
  std::fclose(bytes);

  const Dataset dataset = Reader(folder / "a.h5").dataset("/x");
  expect_error(ErrorKind::dataset, {"/x holds 4000", "bytes of text", "refused"},
               [&] { dataset.read_strings(); });
}

// 64 Mi texts of a byte, which would be 2 GiB in memory, of a chunk that is not looked at.
TEST(Strings, MoreThanMemoryShouldHoldAreRefused) {
  const raw::TemporaryFolder folder;
  constexpr hsize_t kCount = 64U << 20;
  raw::create(folder / "a.h5", [](hid_t file) { raw::declared(file, "/x", H5T_C_S1, {kCount}); });
  const Dataset dataset = Reader(folder / "a.h5").dataset("/x");
  expect_error(ErrorKind::dataset, {"/x holds 67108864 texts of 1 bytes, more than 1073741824"},
               [&] { dataset.read_strings(); });
}

}  // namespace
}  // namespace tally::hdf5
