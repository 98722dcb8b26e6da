// SPDX-License-Identifier: Apache-2.0
// `tally inspect` in process, over files in a folder of the test's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <tally/inspect/inspect_command.hpp>

#include "raw_hdf5.hpp"

namespace tally::app {

class InspectFixture : public testing::Test {
 protected:
  std::string at(std::string_view name) const { return (folder_ / name).string(); }

  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(at(name), std::ios::binary) << content;
    return at(name);
  }

  std::string text_of(std::string_view name) const {
    std::ostringstream text;
    text << std::ifstream(at(name), std::ios::binary).rdbuf();
    return text.str();
  }

  // What the command prints; what it throws comes out.
  static std::string printed(const std::vector<std::string>& words) {
    testing::internal::CaptureStdout();
    try {
      run_inspect(words);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return testing::internal::GetCapturedStdout();
  }

  raw::TemporaryFolder folder_;
};

}  // namespace tally::app
