// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <vector>

#include <tally/base/files.hpp>

namespace tally {
namespace {

std::vector<std::byte> counted(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

class FileIo : public testing::Test {
 protected:
  FileIo() : file_(std::tmpfile()) {}
  ~FileIo() override { std::fclose(file_); }
  int descriptor() const { return ::fileno(file_); }

  std::FILE* file_;
};

TEST_F(FileIo, WhatWasWrittenAtAPlaceIsReadThere) {
  const auto bytes = counted(1000);
  EXPECT_EQ(write_at(descriptor(), 5000, bytes), "");
  std::vector<std::byte> read(990);
  EXPECT_EQ(read_at(descriptor(), 5010, read), "");
  EXPECT_TRUE(std::equal(read.begin(), read.end(), bytes.begin() + 10));
  EXPECT_EQ(read_at(descriptor(), 0, std::span(read).first(1)), "");
  EXPECT_EQ(read[0], std::byte{0});  // never written
}

TEST_F(FileIo, TheEndOfTheFileIsTold) {
  EXPECT_EQ(write_at(descriptor(), 0, counted(10)), "");
  std::vector<std::byte> read(11);
  EXPECT_EQ(read_at(descriptor(), 0, read), "the file ends early");
  EXPECT_EQ(read_at(descriptor(), 100, read), "the file ends early");
}

TEST_F(FileIo, WhatTheSystemRefusesIsTold) {
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(read_at(-1, 0, bytes), "Bad file descriptor");
  EXPECT_EQ(write_at(-1, 0, bytes), "Bad file descriptor");
}

TEST(FileIoOfPipes, CannotBeRead) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(read_at(ends[0], 0, bytes), "Illegal seek");
  ::close(ends[0]);
  ::close(ends[1]);
}

// The system cuts this write where the limit is, then refuses the rest.
TEST_F(FileIo, AWriteThatIsCutIsTold) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string problem = write_at(descriptor(), 0, counted(100));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(problem, "File too large");
}

// Whether or not the file system can make files without a name.
TEST(ScratchFile, LeavesNothingInItsFolder) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "tally_scratch";
  fs::create_directory(folder);
  for (const auto open : {open_nameless, open_and_unlink, open_scratch}) {
    const UniqueDescriptor file = open(folder);
    ASSERT_TRUE(file);
    EXPECT_TRUE(fs::is_empty(folder));
    const auto bytes = counted(10);
    std::vector<std::byte> read(10);
    EXPECT_EQ(write_at(file.get(), 0, bytes), "");
    EXPECT_EQ(read_at(file.get(), 0, read), "");
    EXPECT_EQ(read, bytes);
  }
  fs::remove(folder);
  EXPECT_FALSE(open_scratch(folder));
}

}  // namespace
}  // namespace tally
