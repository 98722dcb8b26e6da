// SPDX-License-Identifier: Apache-2.0
// A folder of its own for each test, and files in it whose time is told, not waited for.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace tally::watch {

class ScratchFolder : public ::testing::Test {
 protected:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tally-watch-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = pattern;
  }
  ~ScratchFolder() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path at(const std::string& name) const { return folder_ / name; }

  // In folders that are made where they are missing.
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary) << content;
  }
  void write(const std::string& name, const std::string& content, std::int64_t modified_s) const {
    write(name, content);
    const timespec times[2] = {{modified_s, 0}, {modified_s, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, at(name).c_str(), times, 0), 0);
  }

  std::string text_of(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
};

}  // namespace tally::watch
