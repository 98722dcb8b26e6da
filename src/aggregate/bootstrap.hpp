// Intervals of metrics that are no proportions, by resampling after the loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/metrics/results.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Values of the replicates that define it, by metric.
using Replicates = std::map<std::string, std::vector<double>>;

// Not collective. Gives metrics that have none the interval of their replicates' percentiles.
void add_intervals(const EvaluationSession& session, const Replicates& replicates,
                   metrics::Results& results);

// Collective. The same for every metric that is made of counts, on rank 0. Throws what must end the
// MPI job.
void add_bootstrap(const comm::Communicator& comm, const EvaluationSession& session,
                   const LocalUnits& local, metrics::Results& results);

}  // namespace tally::app
