// SPDX-License-Identifier: Apache-2.0
// Where records go that outgrow memory, by option, environment and default.
#include <tally/session/local_result.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "expect_error.hpp"

namespace tally::app {
namespace {

class SpillFolderTest : public testing::Test {
 protected:
  SpillFolderTest() {
    if (const char* value = std::getenv("TMPDIR")) before_ = value;
  }
  ~SpillFolderTest() override {
    unsetenv("TMPDIR");
    if (before_) setenv("TMPDIR", before_->c_str(), 1);
  }
  static config::ResultOptions options_of(const std::string& folder) {
    config::ResultOptions options;
    options.spill_dir = folder;
    return options;
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(SpillFolderTest, IsTheOptionElseTheEnvironmentElseTmp) {
  setenv("TMPDIR", "/of/the/job", 1);
  EXPECT_EQ(spill_folder(options_of("/scratch")), "/scratch");
  EXPECT_EQ(spill_folder({}), "/of/the/job");
  setenv("TMPDIR", "", 1);
  EXPECT_EQ(spill_folder({}), "/tmp");
  unsetenv("TMPDIR");
  EXPECT_EQ(spill_folder({}), "/tmp");
}

TEST_F(SpillFolderTest, AFolderThatCanBeWrittenPasses) {
  EXPECT_NO_THROW(check_spill_folder(options_of(testing::TempDir())));
}

TEST_F(SpillFolderTest, WhatIsNoFolderIsRefusedBeforeTheRun) {
  const auto file = std::filesystem::path(testing::TempDir()) / "spill-folder-test";
  std::ofstream(file) << "a file";
  for (const std::string& name :
       {std::string("/no/such/folder"), file.string(), std::string("/proc")}) {
    expect_error(ErrorKind::output,
                 {"the folder '" + name + "' for records that outgrow memory is no writable folder",
                  "Name one on a local disk with --spill-dir."},
                 [&] { check_spill_folder(options_of(name)); });
  }
  std::filesystem::remove(file);
  setenv("TMPDIR", "/of/the/job", 1);
  expect_error(ErrorKind::output, {"'/of/the/job'"}, [] { check_spill_folder({}); });
}

}  // namespace
}  // namespace tally::app
