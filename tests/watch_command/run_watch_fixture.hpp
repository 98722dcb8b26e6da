// SPDX-License-Identifier: Apache-2.0
// Whole watches of a small network over a small data set, in a folder that all ranks share.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <tally/comm/agree.hpp>
#include <tally/watch/leaderboard.hpp>
#include <tally/watch_command/watch_command.hpp>

#include "comm_fixture.hpp"
#include "fixture_file.hpp"
#include "sample_file.hpp"

namespace tally::app {

class RunWatchFixture : public comm::CommTest {
 protected:
  RunWatchFixture()
      : folder_(std::filesystem::temp_directory_path() /
                world().broadcast("tally-run-watch-" + std::to_string(::getpid()))) {
    on_root([&] { std::filesystem::create_directories(folder_ / "in"); });
  }
  ~RunWatchFixture() override {
    world().barrier();
    if (world().is_root()) std::filesystem::remove_all(folder_);
  }

  // Rank 0 does it before any other goes on.
  template <class Action>
  void on_root(Action&& action) {
    if (world().is_root()) action();
    world().barrier();
  }

  // As the network takes them: 12 pixels square, of 10 classes.
  void write_data(std::int64_t num_samples) const {
    data::SampleFile{.num_samples = num_samples, .height = 12, .width = 12, .num_classes = 10}
        .write(folder_ / "set.h5");
  }
  // A checkpoint of the fixtures under a name in the folder.
  void put(const std::string& fixture, const std::string& name) const {
    std::filesystem::copy_file(fixture_path(fixture), folder_ / "in" / name);
  }

  // The exit code of this rank; what it prints is in `printed_`.
  int watch(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--checkpoints", folder_ / "in",
                                   "--model",       fixture_path("net.pt"),
                                   "--data",        folder_ / "set.h5",
                                   "--output",      folder_ / "out",
                                   "--batch-size",  "4",
                                   "--device",      "cpu",
                                   "--poll",        "0.01",
                                   "--progress",    "off",
                                   "--save",        "none"};
    words.insert(words.end(), more.begin(), more.end());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto end = [&] {
      printed_ = testing::internal::GetCapturedStdout();
      said_ = testing::internal::GetCapturedStderr();
      world().barrier();
    };
    try {
      const int code = run_watch(world(), words);
      end();
      return code;
    } catch (const comm::AgreedFailure& failure) {
      end();
      return exit_code(failure.kind);
    }
  }

  std::filesystem::path folder_;
  std::string printed_, said_;
};

}  // namespace tally::app
