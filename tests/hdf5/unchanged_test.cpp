// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, std::int64_t value) {
  raw::create(path, [&](hid_t file) {
    const std::vector<std::int64_t> values(4, value);
    raw::dataset(file, "/x", H5T_STD_I64LE, {4}, values.data());
  });
  // Clocks of file systems tick slowly: a write that follows at once must not look like this one.
  const timespec old[] = {{1'000'000'000, 0}, {1'000'000'000, 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
}

// A file that is opened, then met with `happen`.
class WhileRead : public testing::Test {
 protected:
  WhileRead() { write_file(path_, 7); }
  void meets(const std::function<void(const fs::path&)>& happen) {
    const Reader file(path_);
    file.require_unchanged();
    happen(path_);
    file.require_unchanged();
    EXPECT_EQ(file.dataset("/x").read_all<std::int64_t>(), (std::vector<std::int64_t>(4, 7)));
  }
  void refuses(const std::function<void(const fs::path&)>& happen) {
    expect_error(ErrorKind::dataset,
                 {"data set '", "a.h5' changed while it was read", "bytes, written",
                  "2001-09-09 01:46:40.000000005 UTC"},
                 [&] { meets(happen); });
  }

  raw::TemporaryFolder folder_;
  fs::path path_ = folder_ / "a.h5";
};

TEST_F(WhileRead, AByteWrittenInItsPlaceIsFound) {
  refuses([](const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
  });
}

TEST_F(WhileRead, AnotherLengthIsFoundWhateverTheTimeSays) {
  refuses([](const fs::path& path) {
    struct stat before {};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    fs::resize_file(path, fs::file_size(path) + 1);
    const timespec times[] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  });
}

TEST_F(WhileRead, TheSameBytesWrittenAgainAreFoundByTheirTime) {
  refuses([](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    std::ofstream(path, std::ios::binary) << bytes;
  });
}

TEST_F(WhileRead, WhatLeavesTheBytesAloneIsNoChange) {
  meets([](const fs::path& path) { fs::permissions(path, fs::perms::owner_read); });
  meets([](const fs::path& path) { fs::create_hard_link(path, path.string() + ".link"); });
  meets([](const fs::path& path) { fs::rename(path, path.string() + ".away"); });
}

TEST_F(WhileRead, AnotherFileOfItsNameAndRemovalAreNoChange) {
  meets([&](const fs::path& path) {
    write_file(folder_ / "b.h5", 8);
    fs::rename(folder_ / "b.h5", path);
  });
  EXPECT_EQ(Reader(path_).dataset("/x").read_all<std::int64_t>().front(), 8);
  fs::remove(path_);
  write_file(path_, 7);
  meets([](const fs::path& path) { fs::remove(path); });
}

}  // namespace
}  // namespace tally::hdf5
