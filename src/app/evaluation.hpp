// One evaluation of a prepared job, from the loop to the files of its result.
#pragma once

#include <optional>

#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>

#include "job.hpp"
#include "phases.hpp"

namespace tally::app {

// Collective. Throws AgreedFailure where a file that samples are read from was written to since it
// was opened.
void require_unchanged_data(const comm::Communicator& comm, const Job& job);

// Collective. Evaluates every rank's slice and publishes the result in the folder job.output; its
// report, on rank 0. In a watch throws, on all ranks and with nothing left behind: StopRequested
// where a rank was asked to stop, AgreedFailure where outputs were not finite. What else it throws
// beside AgreedFailure must end the whole job.
std::optional<report::RunReport> evaluate_job(const comm::Communicator& comm, Job& job,
                                              Phases& phases);

}  // namespace tally::app
