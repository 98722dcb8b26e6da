// SPDX-License-Identifier: Apache-2.0
// A program of its own: what HDF5 does after a failed write shows when the process ends.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/hdf5/reader.hpp>
#include <tally/hdf5/writer.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

namespace fs = std::filesystem;

// A disk that is full after `limit` bytes, for this process.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t limit) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{limit, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

// Writes files under every limit below their size; each must be refused. Ends the process, because
// what HDF5 does after a failed write shows at exit.
[[noreturn]] void fill_the_disk() {
  const raw::TemporaryFolder folder;
  const std::vector<std::uint8_t> large(200'000, 9);
  const auto write = [&](const fs::path& path) {
    Writer file(path);
    file.write("/large", {200'000}, large);
    file.write("/small", {3}, std::vector<std::uint8_t>{1, 2, 3});
    file.set_attribute("/", "a", "text of some length");
    file.close();
  };
  write(folder / "whole.h5");
  const auto whole = fs::file_size(folder / "whole.h5");
  for (rlim_t limit = 0; limit < whole; limit += 4001) {
    const fs::path path = folder / std::to_string(limit);
    const FileSizeLimit full(limit);
    expect_error(ErrorKind::output, {path.filename().string(), "free space."},
                 [&] { write(path); });
  }
  {
    const FileSizeLimit enough(whole);
    EXPECT_NO_THROW(write(folder / "fits.h5"));
  }
  EXPECT_EQ(Reader(folder / "fits.h5").dataset("/large").read_all<std::uint8_t>(), large);
  fs::remove_all(folder.path());
  std::exit(testing::Test::HasFailure() ? 1 : 6);
}

TEST(WriterDeathTest, AFullDiskIsAnErrorWhereverItFillsAndTheExitCodeStands) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which HDF5 was not used before
  EXPECT_EXIT(fill_the_disk(), testing::ExitedWithCode(6), "");
}

}  // namespace
}  // namespace tally::hdf5
