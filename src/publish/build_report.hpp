// The report of a run.
#pragma once

#include <tally/aggregate/global_result.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Everything the report says, complete on rank 0.
report::RunReport make_report(const comm::Communicator& comm, const EvaluationSession& session,
                              const LocalUnits& local, const GlobalResult& global,
                              const Phases& phases, const Notes& notes);

}  // namespace tally::app
