// SPDX-License-Identifier: Apache-2.0
// Shorthands of the config tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/config/run_options.hpp>

namespace tally::config {

using Words = std::vector<std::string>;

// A file with this content, gone at the end of the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content)
      : path_(std::filesystem::temp_directory_path() /
              format("tally-config-{}-{}.ini", getpid(), ++num_made)) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  static inline int num_made = 0;
  std::filesystem::path path_;
};

// The sentence of the Error(usage) that this causes, or "no error".
template <class Parse>
std::string complaint_of(const Parse& parse) {
  try {
    parse();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

inline std::string complaint(const Words& arguments, const Words& environment = {}) {
  return complaint_of([&] { parse_run_options(arguments, environment); });
}

// The required options, and then some.
inline Words with_required(Words more) {
  more.insert(more.begin(), {"--model", "m.pt", "--data", "d.h5"});
  return more;
}

}  // namespace tally::config
