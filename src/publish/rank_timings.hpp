// What each rank did in its loop: from its own timings to the report's.
#pragma once

#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Fills `ranks` and the steady rate of the report, and names slow ranks in a note; on
// rank 0.
void add_rank_timings(const comm::Communicator& comm, const EvaluationSession& session,
                      const LocalUnits& local, const Phases& phases, report::RunReport& report);

}  // namespace tally::app
