// SPDX-License-Identifier: Apache-2.0
// Keeps what a rank has evaluated in the output folder while its loop goes on, so that the run can
// be resumed, and ends the loop where a signal asks for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/exact/state.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/resume/progress_files.hpp>
#include <tally/session/loop_observations.hpp>
#include <tally/session/score_source.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

class ProgressKeeper final : public LoopObserver {
 public:
  // All of them outlive it. facts: of the session. Rank 0 creates the folder, before the loop of
  // any rank begins. Where a signal ends the job and rank 0 finds nothing in it, it takes the
  // folder away, and a rank that still writes must fail: it would leave progress without events.
  ProgressKeeper(const comm::Communicator& comm, const EvaluationSession& session,
                 const RunFacts& facts, LoopObserver& inner);

  void range_begins(plan::BatchRange batches, const LocalSamples& before) override;
  // Throws StopRequested where this rank or another one was asked to stop, once what is complete
  // has been kept; comm::PeerFailed where a peer has failed.
  void batch_done(std::int64_t samples_done, const exact::State& state) override;
  void blocks_done(const evaluate::LoopStats& stats, const exact::State& state) override;
  bool wants_whole_blocks() override;
  void ranges_end(const LocalSamples& all) override;

  // After a loop that came to its end: keeps its last batches, too, if `always`, or if the run has
  // kept any before.
  void keep_all(const LocalSamples& all, bool always);

  // Not collective. Whether the loops shall end; asks the other ranks, too, to end theirs.
  bool is_to_stop();

  std::int64_t num_samples() const;  // that this rank has evaluated in whole blocks
  // Why nothing could be kept any more; the loop goes on without.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  enum class When { later, now };
  // What was evaluated up to the end of a block.
  struct Point {
    std::int64_t samples = 0;  // of the range
    exact::State state;        // of all ranges
    LoopObservations observations;
  };

  bool is_due();
  static Point point_of(const LocalSamples& samples);
  Point point_at(const evaluate::LoopStats& stats, const exact::State& state) const;
  void end_range();
  plan::BatchRange batches_up_to(std::int64_t samples) const;
  void keep(const Point& point, const LocalSamples& logs, When when);
  void append_records(std::int64_t samples, const LocalSamples& logs);
  [[noreturn]] void stop(const std::optional<Point>& point);

  const comm::Communicator& comm_;
  const EvaluationSession& session_;
  LoopObserver& inner_;
  std::string identity_;
  bool is_sorted_;
  resume::ProgressWriter writer_;
  std::optional<Error> failure_;
  Stopwatch since_kept_;
  bool has_kept_ = false;  // or has tried to

  const LocalSamples* before_ = nullptr;  // while a range is evaluated
  plan::BatchRange range_;
  std::optional<Point> base_;   // what came before the range
  std::optional<Point> point_;  // the last one of the range, where the loop may stop behind it
  std::int64_t done_in_range_ = 0;
  std::vector<plan::BatchRange> done_;           // earlier ranges
  std::vector<plan::SampleRange> not_appended_;  // samples of these
  std::int64_t appended_ = 0;                    // samples of the range
};

}  // namespace tally::app
