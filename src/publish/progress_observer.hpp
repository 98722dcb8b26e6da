// SPDX-License-Identifier: Apache-2.0
// What rank 0 shows while the loop runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <tally/base/clock.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/report/event_log.hpp>
#include <tally/report/progress.hpp>
#include <tally/session/score_source.hpp>
#include <tally/tasks/task.hpp>

namespace tally::app {

// Stays silent; every rank but 0.
class SilentObserver : public LoopObserver {
 public:
  void batch_done(std::int64_t, const exact::State&) override {}
};

// Shows and records progress. Ranks do not talk inside the loop, so rank 0's share stands for the
// whole: counts are scaled by total / own samples; metric values are of rank 0's samples. Of a run
// that is resumed these are the samples that were left, behind those that were done before.
class ProgressObserver : public LoopObserver {
 public:
  ProgressObserver(report::ProgressStyle style, report::EventLog& events, const tasks::Task& task,
                   std::int64_t own_samples, std::int64_t total_samples,
                   std::int64_t done_before = 0);
  void batch_done(std::int64_t samples_done, const exact::State& state) override;
  void finish() { display_.finish(); }

 private:
  void refresh_metrics(std::int64_t scaled, const exact::State& state);

  report::ProgressDisplay display_;
  report::EventLog& events_;
  const tasks::Task& task_;
  std::int64_t own_samples_;
  std::int64_t total_samples_;
  std::int64_t done_before_;
  Stopwatch since_start_;
  Stopwatch since_metrics_;
  bool any_metrics_ = false;
  double metrics_interval_s_ = 0;
  std::optional<double> accuracy_;
};

}  // namespace tally::app
