// The metric that needs the values of all ranks in order: Spearman's correlation.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/metrics/results.hpp>
#include <tally/ordered_metrics/spearman.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. The sums of ranks of the whole run, one per output, on every rank; none where the
// metric is not wanted. With `codes` and a `code`: of the samples of one subgroup. What it throws
// must end the MPI job.
std::vector<ordered_metrics::SpearmanSums> sum_all_spearman(const comm::Communicator& comm,
                                                            const EvaluationSession& session,
                                                            const LocalUnits& local);
std::vector<ordered_metrics::SpearmanSums> sum_spearman_of(const comm::Communicator& comm,
                                                           const EvaluationSession& session,
                                                           const LocalUnits& local,
                                                           const std::vector<std::int32_t>& codes,
                                                           std::int32_t code);

// Not collective. Adds the metric of all outputs, and that of each.
void add_spearman(const std::vector<ordered_metrics::SpearmanSums>& sums,
                  metrics::Results& results);

// Collective. An interval for it, on rank 0.
void add_spearman_intervals(const comm::Communicator& comm, const EvaluationSession& session,
                            const LocalUnits& local, metrics::Results& results);

}  // namespace tally::app
