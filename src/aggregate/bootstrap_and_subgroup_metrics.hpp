// SPDX-License-Identifier: Apache-2.0
// Metrics of retained samples counted once more: with other weights (bootstrap), or some of them
// (subgroups).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/exact/state.hpp>
#include <tally/metrics/results.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Intervals of metrics that are no proportions, by resampling after the loop.

// Values of the replicates that define it, by metric.
using Replicates = std::map<std::string, std::vector<double>>;

// Not collective. Gives metrics that have none the interval of their replicates' percentiles.
void add_intervals(const EvaluationSession& session, const Replicates& replicates,
                   metrics::Results& results);

// Collective. The same for every metric that is made of counts, on rank 0. Throws what must end the
// MPI job.
void add_bootstrap(const comm::Communicator& comm, const EvaluationSession& session,
                   const LocalUnits& local, metrics::Results& results);

// Counts the subgroups of a data set after the loop.

// Not collective. To which value of `groups` each of this rank's samples, or of its units, belongs,
// as its place. Throws Error(dataset) where the column changed.
std::vector<std::int32_t> group_codes(const EvaluationSession& session, const LocalUnits& local,
                                      const Subgroups& groups);

// Collective. One state per value of `groups`, of the whole run, on every rank. Throws what must
// end the MPI job.
std::vector<exact::State> count_subgroups(const comm::Communicator& comm,
                                          const EvaluationSession& session, const LocalUnits& local,
                                          const Subgroups& groups,
                                          const std::vector<std::int32_t>& codes);

// The metrics of these states.
report::GroupMetrics metrics_of(const EvaluationSession& session, const Subgroups& groups,
                                const std::vector<exact::State>& states);

}  // namespace tally::app
