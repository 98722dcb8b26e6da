// SPDX-License-Identifier: Apache-2.0
// Measures how long each step of a run took, on this rank and over all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::app {

// The step that follows on one of this name, null where nothing does. Steps that only some runs
// have are not named: while one is under way, the step behind it is.
const char* step_behind(std::string_view step);

// Steps follow one another and have the same names in the same order on every rank.
class Phases {
 public:
  Phases();
  // Ends the step that began with the last call (or with this object) and names it. The step behind
  // it is the phase under way from now on (base/current_work.hpp).
  void lap(std::string name);
  // Adds what took these seconds before the step that is under way.
  void add(std::string name, double seconds);
  // How long the step of this name took, on this rank; 0 where there was none.
  double seconds_of(std::string_view name) const;
  // Collective. Over all ranks, on rank 0; empty elsewhere.
  std::vector<report::PhaseTime> over_ranks(const comm::Communicator& comm) const;
  // Passes on the steps that ended since the last call.
  void record(trace::Recorder& recorder);

 private:
  struct Step {
    std::string name;
    std::int64_t begin_ns = 0, end_ns = 0;  // steady clock
    double seconds() const;
  };
  std::vector<Step> steps_;
  std::int64_t begin_ns_;  // of the step under way
  std::size_t num_recorded_ = 0;
};

}  // namespace tally::app
