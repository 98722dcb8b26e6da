// SPDX-License-Identifier: Apache-2.0
// A coordinator of a watch that is taken from step to step, and given reports that are made up.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "watch_coordinator.hpp"
#include "watch_fixture.hpp"

namespace tally::app {

class CoordinatorFixture : public WatchFixture {
 protected:
  // Begins a watch, or begins it anew: the one before is gone then. What it says is in `said_`.
  void begin() {
    coordinator_.reset();
    session_.emplace(session());
    said_ = captured([&] { coordinator_.emplace(*session_); }).second;
  }

  // The next step that is not to look again later, which a few looks must lead to.
  WatchStep step() {
    auto found = WatchStep::poll_later;
    const auto [out, err] = captured([&] {
      for (int look = 0; look < 9 && found == WatchStep::poll_later; ++look) {
        found = coordinator_->next();
      }
    });
    said_ = err;
    return found;
  }

  // Evaluates what is next; the lines that are printed.
  std::string evaluate(std::optional<double> accuracy, double loss = 1,
                       std::optional<metrics::Interval> interval = {}) {
    EXPECT_EQ(step(), WatchStep::evaluate);
    report::RunReport report;
    report.metrics.results.units.count = 7;
    report.metrics.results.metrics = {{"accuracy", accuracy}, {"loss", loss}};
    report.metrics.results.metrics[0].interval = std::move(interval);
    report.digests.state = "the state's digest";
    report.inputs.weights.emplace().tensors_sha256 = "the weights' digest";
    report.timing.wall_s = 2;
    const auto [out, err] = captured([&] { coordinator_->evaluated(report); });
    said_ = err;
    return out;
  }

  std::string finish(bool is_resumable = false) {
    return captured([&] { coordinator_->finish(is_resumable); }).first;
  }

  // Names of the entries, those of broken ones behind an exclamation mark.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    const watch::Leaderboard written(at("out"));
    for (const auto& entry : written.entries()) {
      const bool is_broken = entry.status == watch::Status::broken;
      names.push_back((is_broken ? "!" : "") + entry.checkpoint.name);
    }
    return names;
  }

  // Where the link to the best one leads.
  std::string best() const {
    const auto link = at("out/best");
    return std::filesystem::is_symlink(link)
               ? std::filesystem::read_symlink(link).filename().string()
               : "none";
  }

  // What `action` writes to stdout and stderr.
  template <class Action>
  static std::pair<std::string, std::string> captured(Action&& action) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    action();
    std::string out = testing::internal::GetCapturedStdout();
    return {std::move(out), testing::internal::GetCapturedStderr()};
  }

  std::optional<EvaluationSession> session_;
  std::optional<WatchCoordinator> coordinator_;
  std::string said_;  // on stderr, by the last call
};

}  // namespace tally::app
