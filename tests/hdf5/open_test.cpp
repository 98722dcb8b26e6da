// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <tally/hdf5/library.hpp>
#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

namespace fs = std::filesystem;

class Open : public testing::Test {
 protected:
  void refused(const fs::path& path, const std::vector<std::string>& parts) {
    expect_error(ErrorKind::dataset, parts, [&] { Reader file(path); });
  }
  fs::path small_file(const char* name = "a.h5") {
    raw::create(folder_ / name, [](hid_t file) {
      const std::vector<std::int64_t> values(1000, 5);
      raw::dataset(file, "/x", H5T_STD_I64LE, {1000}, values.data());
    });
    return folder_ / name;
  }

  raw::TemporaryFolder folder_;
};

TEST_F(Open, WhatIsNoFileIsToldApart) {
  refused(folder_ / "none.h5", {"data set '", "none.h5' does not exist"});
  refused(folder_ / "none" / "x.h5", {"does not exist"});
  refused(folder_.path(), {"is a folder, expected an HDF5 file"});
  refused("/dev/null", {"is not a regular file"});
  std::ofstream(folder_ / "empty.h5").flush();
  refused(folder_ / "empty.h5", {"empty.h5' is empty, expected an HDF5 file"});
  std::ofstream(folder_ / "text.h5") << std::string(5000, 'x');
  refused(folder_ / "text.h5", {"is not an HDF5 file"});
}

TEST_F(Open, FilesAreKnownByTheirSignature) {
  EXPECT_TRUE(is_hdf5_file(small_file()));
  const fs::path behind = folder_ / "user_block.h5";
  const hid_t properties = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(properties, 512);
  H5Fclose(H5Fcreate(behind.c_str(), H5F_ACC_TRUNC, properties, H5P_DEFAULT));
  H5Pclose(properties);
  EXPECT_TRUE(is_hdf5_file(behind)) << "behind a user block";
  std::ofstream(folder_ / "text.json") << "[]";
  EXPECT_FALSE(is_hdf5_file(folder_ / "text.json"));
  EXPECT_FALSE(is_hdf5_file(folder_ / "none"));
  EXPECT_FALSE(is_hdf5_file(folder_.path()));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(is_hdf5_file(folder_ / "pipe")) << "without waiting for a writer";
}

// Root may read everything: it becomes nobody for a while.
class AsNobody {
 public:
  AsNobody() : before_(::geteuid()) {
    if (before_ == 0) possible_ = ::seteuid(65534) == 0;
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (before_ == 0 && possible_ && ::seteuid(before_) != 0) std::abort();
  }
  bool possible() const { return possible_; }

 private:
  uid_t before_;
  bool possible_ = true;
};

TEST_F(Open, UnreadableSaysSo) {
  const fs::path path = small_file();
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  const AsNobody nobody;
  if (!nobody.possible()) GTEST_SKIP() << "root cannot become another user here";
  refused(path, {"a.h5' cannot be read (Permission denied)"});
}

TEST_F(Open, TruncatedNamesBothSizes) {
  const fs::path path = small_file();
  const auto whole = fs::file_size(path);
  fs::resize_file(path, whole - 100);
  refused(path, {"is truncated", std::to_string(whole - 100) + " bytes",
                 "expected " + std::to_string(whole)});
}

TEST_F(Open, EveryTruncationIsRefused) {
  const fs::path path = small_file();
  const auto whole = fs::file_size(path);
  for (std::uintmax_t size = 1; size < whole; size += 97) {
    const fs::path cut = folder_ / "cut.h5";
    fs::copy_file(path, cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, size);
    refused(cut, {"cut.h5'"});
  }
}

TEST_F(Open, AForeignLockDoesNotStopReaders) {
  const fs::path path = small_file();
  const int other = ::open(path.c_str(), O_RDWR);
  ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(Reader(path).children("/"), std::vector<std::string>{"x"});
  ::close(other);
}

TEST_F(Open, AReaderCanBeMovedAndADatasetMayOutliveIt) {
  Reader first(small_file());
  Reader file = std::move(first);
  const Dataset dataset = file.dataset("/x");
  file = Reader(small_file("b.h5"));
  EXPECT_EQ(dataset.read_all<std::int64_t>(), std::vector<std::int64_t>(1000, 5));
}

TEST_F(Open, TheCallerNamesKindAndFile) {
  expect_error(ErrorKind::output, {"predictions file '"},
               [&] { Reader(folder_ / "p.h5", ErrorKind::output, "predictions file"); });
}

TEST(Library, TellsItsVersion) {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  EXPECT_EQ(library_version(),
            std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release));
}

}  // namespace
}  // namespace tally::hdf5
