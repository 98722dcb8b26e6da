// SPDX-License-Identifier: Apache-2.0
// Looks for symptoms of mistakes in what a run found.
#pragma once

#include <tally/aggregate/global_result.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Fills the report's diagnosis on rank 0, the same for any number of ranks. The
// report's metrics are there already.
void diagnose_run(const comm::Communicator& comm, const EvaluationSession& session,
                  const LocalUnits& local, report::RunReport& report);

}  // namespace tally::app
