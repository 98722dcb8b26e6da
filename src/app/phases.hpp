// How long each step of a run took, on this rank and over all.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tally/base/clock.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>

namespace tally::app {

// Steps follow one another and have the same names in the same order on every rank.
class Phases {
 public:
  // Ends the step that began with the last call (or with this object) and names it.
  void done(std::string name);
  // Adds a time that was measured elsewhere.
  void add(std::string name, double seconds);
  // Collective. Over all ranks, on rank 0; empty elsewhere.
  std::vector<report::PhaseTime> over_ranks(const comm::Communicator& comm) const;

 private:
  std::vector<std::pair<std::string, double>> steps_;
  Stopwatch watch_;
};

// Collective. The same number of values from every rank, rank after rank, on rank 0.
std::vector<double> gather_values(const comm::Communicator& comm,
                                  const std::vector<double>& values);

}  // namespace tally::app
