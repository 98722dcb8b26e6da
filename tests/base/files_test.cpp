// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <tally/base/files.hpp>

namespace tally {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string pattern = (fs::temp_directory_path() / "tally-files-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { fs::remove_all(folder_); }

  std::string text_of(const fs::path& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t num_entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(Files, WritesWholeAndReplaces) {
  const auto path = folder_ / "report.json";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  EXPECT_EQ(text_of(path), "two");
  EXPECT_EQ(num_entries(), 1);
}

TEST_F(Files, FailedWriteLeavesNothing) {
  const auto path = folder_ / "report.json";
  fs::create_directory(path);  // the rename must fail
  EXPECT_THROW(write_file_atomically(path, "text"), Error);
  EXPECT_EQ(num_entries(), 1);
  EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(Files, WritingBelowAFileIsAnOutputError) {
  std::ofstream(folder_ / "file") << "x";
  try {
    write_file_atomically(folder_ / "file" / "report.json", "text");
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_NE(std::string(error.what()).find("report.json"), std::string::npos);
  }
}

TEST_F(Files, ReadsAllBytes) {
  const auto path = folder_ / "bytes";
  write_file_atomically(path, std::string("a\0b", 3));
  const auto bytes = read_file(path, ErrorKind::model, "model");
  ASSERT_EQ(bytes.size(), 3u);
  EXPECT_EQ(bytes[1], std::byte{0});
}

TEST_F(Files, ReadingNamesWhatAndWhy) {
  for (const auto& [path, why] :
       {std::pair{folder_ / "none", "No such file"}, std::pair{folder_, "not a regular file"}}) {
    try {
      read_file(path, ErrorKind::model, "weights");
      FAIL() << "must throw";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("weights"), std::string::npos);
    }
  }
}

// The text of the error that reading a file gives.
std::string refusal_of_reading(const fs::path& path, ErrorKind kind, std::int64_t most_bytes) {
  try {
    read_file(path, ErrorKind::usage, "config file", most_bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

TEST_F(Files, ALargerFileThanIsExpectedIsRefused) {
  write_file_atomically(folder_ / "four", "1234");
  EXPECT_EQ(refusal_of_reading(folder_ / "four", ErrorKind::usage, 4), "no error");
  EXPECT_NE(refusal_of_reading(folder_ / "four", ErrorKind::usage, 3)
                .find("(it has 4 bytes, expected at most 3)"),
            std::string::npos);
}

// Nearly all of it is a hole, which takes no space on the disk.
TEST_F(Files, AFileLargerThanMemoryIsRefusedBeforeItIsRead) {
  constexpr std::int64_t kBytes = 4'000'000'000'000;
  std::ofstream(folder_ / "hole") << "x";
  fs::resize_file(folder_ / "hole", kBytes);
  const auto says = refusal_of_reading(folder_ / "hole", ErrorKind::environment,
                                       std::numeric_limits<std::int64_t>::max());
  EXPECT_NE(says.find("has 4000000000000 bytes; this node has "), std::string::npos) << says;
}

TEST_F(Files, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal_of_reading(folder_ / "pipe", ErrorKind::usage, 4).find("not a regular file"),
            std::string::npos);
  EXPECT_THROW(open_regular_file("/dev/zero", ErrorKind::usage, "config file"), Error);
}

}  // namespace
}  // namespace tally
