// SPDX-License-Identifier: Apache-2.0
// The report of a run, and in it what each rank did in its loop.
#pragma once

#include <vector>

#include <tally/aggregate/global_result.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// What each rank did in its loop: from its own timings to the report's.

// Collective. Fills `ranks` and the steady rate of the report, and names slow ranks in a note; on
// rank 0.
void add_rank_timings(const comm::Communicator& comm, const EvaluationSession& session,
                      const LocalUnits& local, const Phases& phases, report::RunReport& report);

// Collective. The report on rank 0, but for what evaluate_session() adds: ids, digest and names of
// the saved files, times of start-up and publishing.
report::RunReport make_report(const comm::Communicator& comm, const EvaluationSession& session,
                              const LocalUnits& local, const GlobalResult& global,
                              const Phases& phases, const Notes& notes);

}  // namespace tally::app
