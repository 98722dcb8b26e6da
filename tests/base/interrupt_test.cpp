// SPDX-License-Identifier: Apache-2.0

#include <tally/base/interrupt.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <tally/base/clock.hpp>

namespace tally {
namespace {

namespace fs = std::filesystem;

TEST(Interrupt, RemovesTheListedAndDiesOfTheSignal) {
  std::string pattern = (fs::temp_directory_path() / "tally-signal-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  const fs::path file = folder / "events.jsonl";
  const auto die = [&] {
    std::ofstream(file) << "x";
    remove_on_interrupt({file, folder / "never-made"}, {folder});
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_FALSE(fs::exists(folder));
}

TEST(Interrupt, AnEmptyListRemovesNothing) {
  std::string pattern = (fs::temp_directory_path() / "tally-signal-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  const auto die = [&] {
    remove_on_interrupt({}, {folder});
    remove_on_interrupt({}, {});
    std::raise(SIGINT);
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_TRUE(fs::exists(folder));
  fs::remove(folder);
}

TEST(Interrupt, OneThatWaitsDiesOfTheSignalToo) {
  const auto die = [] {
    wait_on_interrupt();
    std::raise(SIGTERM);
  };
  const Stopwatch watch;
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_GT(watch.elapsed_s(), 1) << "the launcher's patience, in which another rank cleans up";
}

}  // namespace
}  // namespace tally
