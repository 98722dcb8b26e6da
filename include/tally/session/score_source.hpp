// SPDX-License-Identifier: Apache-2.0
// Declares the interface of what gives the scores of a run: a model, or predictions that were saved
// (`tally score`).
#pragma once

#include <optional>

#include <tally/comm/communicator.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/notes.hpp>

namespace tally::app {

struct EvaluationSession;
struct LocalSamples;
struct LocalUnits;

// Looks on while samples are scored.
class LoopObserver : public evaluate::Observer {
 public:
  // Before consecutive batches are evaluated: `before` holds what was scored of this rank's slice
  // until then, and its logs grow with these batches.
  virtual void range_begins(plan::BatchRange /*batches*/, const LocalSamples& /*before*/) {}
  // After the last of them, and before anything is counted that an earlier run has evaluated.
  virtual void ranges_end(const LocalSamples& /*all*/) {}
};

class ScoreSource {
 public:
  ScoreSource() = default;
  virtual ~ScoreSource() = default;
  ScoreSource(const ScoreSource&) = delete;
  ScoreSource& operator=(const ScoreSource&) = delete;

  // Whether the loop runs a predictor over batches: a model, or the one that passes saved scores
  // on.
  virtual bool runs_predictor() const = 0;
  // Whether it calls LoopObserver::range_begins() and blocks_done(), and takes over the segments of
  // the plan that are done: whether a run can be resumed. What others do is quickly done again.
  virtual bool can_resume() const { return false; }
  // Whether it scores units that were saved, so that no sample is read.
  virtual bool is_rescoring_units() const { return false; }

  // Counts and records what this rank's slice scores. Not collective: what it throws must end the
  // MPI job.
  virtual LocalSamples score(const EvaluationSession& session, LoopObserver& observer) = 0;

  // Collective. After the loop: makes units of samples, or matches detections. By default each
  // sample is a unit. Throws comm::AgreedFailure.
  virtual LocalUnits complete(const comm::Communicator& comm, const EvaluationSession& session,
                              LocalSamples samples);

  // Collective. The ids that the predictions and the data set have in common, complete on rank 0;
  // none where scores have no ids.
  virtual std::optional<report::IdMatch> match_ids(const comm::Communicator& /*comm*/,
                                                   const EvaluationSession& /*session*/,
                                                   Notes& /*notes*/) {
    return std::nullopt;
  }

  // Not collective. Throws Error(dataset) if its file was written to since it was opened.
  virtual void require_unchanged() const {}
};

}  // namespace tally::app
