// Metrics that one count for each sample cannot give: curves, Spearman's correlation, average
// precision, subgroups and intervals.
#pragma once

#include <tally/aggregate/global_result.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Computes all of them, of retained samples, into `global`. What it throws must end the
// MPI job.
void compute_post_loop_metrics(const comm::Communicator& comm, const EvaluationSession& session,
                               LocalUnits& local, GlobalResult& global);

}  // namespace tally::app
