// SPDX-License-Identifier: Apache-2.0
// Files that tests/model/fixtures/make_fixtures.py wrote.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>

namespace tally {

inline std::filesystem::path fixture_path(const std::string& name) {
  return std::filesystem::path(TALLY_MODEL_FIXTURES) / name;
}

// A fixture's bytes.
struct FixtureFile {
  explicit FixtureFile(const std::string& file_name)
      : name(file_name), bytes(read_file(fixture_path(file_name), ErrorKind::model, "fixture")) {}

  std::string name;
  std::vector<std::byte> bytes;
};

// The message of the Error(kind) that `call` throws; a failure of the test if it does not.
template <class Call>
std::string error_of(ErrorKind kind, Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace tally
