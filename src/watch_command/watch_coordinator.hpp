// SPDX-License-Identifier: Apache-2.0
// Rank 0's side of a watch: the folder of checkpoints, the leaderboard, and when it ends.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/session.hpp>
#include <tally/watch/checkpoint_folder.hpp>
#include <tally/watch/early_stopping.hpp>
#include <tally/watch/leaderboard.hpp>
#include <tally/weights/checkpoint.hpp>

#include "watch_folder.hpp"

namespace tally::app {

enum class WatchStep : char { poll_later = 'l', evaluate = 'e', end = 'x', end_resumable = 'r' };

class WatchCoordinator {
 public:
  // Takes up an earlier run's leaderboard. Throws as WatchFolder does, and Error(usage) for a
  // metric to monitor that is not computed or is no single number.
  explicit WatchCoordinator(const EvaluationSession& session);

  // Scans the folder, --poll after the scan before. Checkpoints that cannot be read are reported
  // and passed over; where one is ready it is opened, and compared with the model. Sleeps until the
  // next scan is due where there is none, at most until a signal.
  WatchStep next();

  // After next() said `evaluate`.
  const weights::Checkpoint& opened() const { return opened_; }
  std::string result_folder() const;
  // To be asked when all of the checkpoint has been read: false if it was written anew meanwhile,
  // and then it comes again. One that was removed counts as read whole.
  bool was_read_whole();
  // What became of it.
  void evaluated(const report::RunReport& report);
  void failed(ErrorKind kind, const std::string& reason);

  // The last words.
  void finish(bool is_resumable);

 private:
  bool is_over() const;
  bool open_next(const std::vector<watch::Checkpoint>& ready);
  // weights_sha256: of the tensors; empty where they could not be read.
  void report_unreadable(const watch::Checkpoint& checkpoint, const std::string& reason,
                         const std::string& weights_sha256 = {});
  void judge();
  void note_lack_of_interval(const watch::Entry& entry);
  std::string counts() const;
  std::string metric_text(const watch::Entry& entry) const;

  const EvaluationSession& session_;
  watch::StopSettings settings_;
  WatchFolder output_;
  watch::Leaderboard leaderboard_;
  watch::CheckpointFolder folder_;
  BestCheckpointLink best_;
  watch::Verdict verdict_;
  watch::Checkpoint current_;
  weights::Checkpoint opened_;
  Stopwatch since_current_;
  double limit_s_ = std::numeric_limits<double>::infinity();  // --time-limit
  double longest_s_ = 0;  // of this process' evaluations: earlier ones may have had other machines
  bool has_said_waiting_ = false;
  bool has_noted_lack_ = false;  // of an interval
};

}  // namespace tally::app
