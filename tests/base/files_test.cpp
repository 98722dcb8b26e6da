// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

}  // namespace
}  // namespace tally
