// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>

#include <tally/hdf5/reader.hpp>
#include <tally/hdf5/writer.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

namespace fs = std::filesystem;

const std::vector<float> kReals{0.5F, 1.5F, -2.0F, 4.0F, 8.0F, 16.0F};

void write_sample(const fs::path& path) {
  Writer file(path);
  file.create_dataset("/index", DType::i64, {6});
  const std::vector<std::int64_t> index{0, 1, 2, 3, 4, 5};
  const auto bytes = std::as_bytes(std::span(index));
  file.write_rows("/index", 4, 2, bytes.subspan(32));
  file.write_rows("/index", 0, 4, bytes.first(32));
  file.write("/deep/reals", {3, 2}, kReals);
  file.write("/scalar", {}, std::vector<std::uint32_t>{7});
  file.write("/empty", {0, 4}, std::vector<double>{});
  file.write_strings("/names", std::vector<std::string>{"a", "größe", ""});
  file.set_attribute("/", "model", "resnet");
  file.set_attribute("/", "count", 1);
  file.set_attribute("/", "count", std::int64_t{2});
  file.set_attribute("/deep/reals", "mean", std::vector<double>{0.25, 0.5});
  file.set_attribute("/deep/reals", "scale", 0.125);
  file.close();
}

TEST(Writer, WhatIsWrittenIsReadBack) {
  const raw::TemporaryFolder folder;
  write_sample(folder / "a.h5");
  const Reader file(folder / "a.h5");
  EXPECT_EQ(file.children("/"),
            (std::vector<std::string>{"deep", "empty", "index", "names", "scalar"}));
  EXPECT_EQ(file.dataset("/index").read_all<std::int64_t>(),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(file.dataset("/deep/reals").read_all<float>(), kReals);
  EXPECT_EQ(file.dataset("/deep/reals").info().shape, (Shape{3, 2}));
  EXPECT_EQ(file.dataset("/deep/reals").info().storage, Storage::contiguous);
  EXPECT_EQ(file.dataset("/scalar").read_all<std::uint32_t>(), std::vector<std::uint32_t>{7});
  EXPECT_EQ(file.dataset("/empty").info().shape, (Shape{0, 4}));
  EXPECT_EQ(file.dataset("/names").read_strings(), (std::vector<std::string>{"a", "größe", ""}));
  EXPECT_EQ(file.kind_of("/deep"), ObjectKind::group);
  EXPECT_EQ(file.string_attribute("/", "model"), "resnet");
  EXPECT_EQ(file.int64_attribute("/", "count"), 2);
  EXPECT_EQ(file.doubles_attribute("/deep/reals", "mean"), (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(file.double_attribute("/deep/reals", "scale"), 0.125);
  EXPECT_NO_THROW(file.refuse_indirections());
}

// HDF5 1.10 reads what is damaged in texts of variable length past the end of its memory.
TEST(Writer, TextsHaveTheirOwnLength) {
  const raw::TemporaryFolder folder;
  Writer file(folder / "a.h5");
  file.write_strings("/names", std::vector<std::string>{"a", "größe", ""});
  file.write_strings("/none", {});
  file.set_attribute("/", "model", "größe");
  file.set_attribute("/", "empty", "");
  file.close();
  raw::edit(folder / "a.h5", [](hid_t id) {
    const auto size_of = [&](const char* name) {
      const hid_t attribute = raw::ok(H5Aopen(id, name, H5P_DEFAULT));
      const hid_t type = raw::ok(H5Aget_type(attribute));
      EXPECT_EQ(H5Tis_variable_str(type), 0);
      EXPECT_EQ(H5Tget_cset(type), H5T_CSET_UTF8);
      H5Aclose(attribute);
      const std::size_t size = H5Tget_size(type);
      H5Tclose(type);
      return size;
    };
    EXPECT_EQ(size_of("model"), std::string("größe").size());
    EXPECT_EQ(size_of("empty"), 1U);
    const hid_t names = raw::ok(H5Dopen2(id, "/names", H5P_DEFAULT));
    const hid_t type = raw::ok(H5Dget_type(names));
    EXPECT_EQ(H5Tis_variable_str(type), 0);
    EXPECT_EQ(H5Tget_size(type), std::string("größe").size());
    H5Tclose(type);
    H5Dclose(names);
  });
  const Reader reader(folder / "a.h5");
  EXPECT_EQ(reader.string_attribute("/", "model"), "größe");
  EXPECT_EQ(reader.string_attribute("/", "empty"), "");
  EXPECT_EQ(reader.dataset("/names").read_strings(), (std::vector<std::string>{"a", "größe", ""}));
  EXPECT_TRUE(reader.dataset("/none").read_strings().empty());
}

TEST(Writer, AFewLongTextsAmongManyTakeNoRoomForAll) {
  const raw::TemporaryFolder folder;
  std::vector<std::string> texts(10'000, "short");
  texts[17] = std::string(1 << 20, 'x');
  Writer file(folder / "a.h5");
  file.write_strings("/names", texts);
  file.close();
  EXPECT_LT(fs::file_size(folder / "a.h5"), 8U << 20);
  EXPECT_EQ(Reader(folder / "a.h5").dataset("/names").read_strings(), texts);
}

TEST(Writer, TheSameContentIsTheSameBytes) {
  const raw::TemporaryFolder folder;
  write_sample(folder / "a.h5");
  write_sample(folder / "b.h5");
  const auto bytes = [](const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes(folder / "a.h5"), bytes(folder / "b.h5"));
}

TEST(Writer, LargeDatasetsAreAligned) {
  const raw::TemporaryFolder folder;
  Writer file(folder / "a.h5");
  file.write("/small", {3}, std::vector<std::uint8_t>{1, 2, 3});
  file.write("/large", {100'000}, std::vector<std::uint8_t>(100'000, 9));
  file.close();
  EXPECT_EQ(Reader(folder / "a.h5").dataset("/large").info().offset % 4096, 0);
}

TEST(Writer, ExtendsAFileThatIsThere) {
  const raw::TemporaryFolder folder;
  write_sample(folder / "a.h5");
  Writer file(folder / "a.h5", Writer::Mode::extend);
  file.write("/checksums/index", {1}, std::vector<std::uint32_t>{5});
  file.set_attribute("/", "model", "other");
  file.close();
  const Reader reader(folder / "a.h5");
  EXPECT_EQ(reader.dataset("/checksums/index").read_all<std::uint32_t>().front(), 5U);
  EXPECT_EQ(reader.string_attribute("/", "model"), "other");
  EXPECT_EQ(reader.dataset("/deep/reals").read_all<float>(), kReals);
}

TEST(Writer, FailuresNameFileObjectAndReason) {
  const raw::TemporaryFolder folder;
  write_sample(folder / "a.h5");
  expect_error(ErrorKind::output, {"file '", "a.h5' cannot be created", "File exists"},
               [&] { Writer file(folder / "a.h5"); });
  expect_error(ErrorKind::output, {"metrics file '", "No such file"}, [&] {
    Writer file(folder / "none" / "m.h5", Writer::Mode::create, ErrorKind::output, "metrics file");
  });
  Writer file(folder / "b.h5");
  file.create_dataset("/x", Element::i64, {4});
  expect_error(ErrorKind::output, {"/x cannot be created"},
               [&] { file.create_dataset("/x", Element::i64, {4}); });
  const std::vector<std::byte> rows(16);
  expect_error(ErrorKind::internal, {"/x"}, [&] { file.write_rows("/x", 3, 2, rows); });
  expect_error(ErrorKind::internal, {"/x"}, [&] { file.write_rows("/x", 0, 1, rows); });
  expect_error(ErrorKind::internal, {"/y"}, [&] { file.write_rows("/y", 0, 2, rows); });
  expect_error(ErrorKind::internal, {"float16"},
               [&] { file.create_dataset("/h", DType::f16, {4}); });
}

}  // namespace
}  // namespace tally::hdf5
