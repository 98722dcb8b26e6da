// SPDX-License-Identifier: Apache-2.0
// Metrics that need the values of all ranks in order: AUROC and related ones, Spearman's
// correlation.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/metrics/results.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/spearman.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. The curves of the whole run, on every rank; none where no metric that is wanted is
// made of them. What it throws must end the MPI job.
std::vector<ordered_metrics::CurveCounts> count_all_curves(const comm::Communicator& comm,
                                                           const EvaluationSession& session,
                                                           const LocalUnits& local);
// Collective. The same of the samples of one subgroup: `codes` says for each of this rank's samples
// to which it belongs.
std::vector<ordered_metrics::CurveCounts> count_curves_of(const comm::Communicator& comm,
                                                          const EvaluationSession& session,
                                                          const LocalUnits& local,
                                                          const std::vector<std::int32_t>& codes,
                                                          std::int32_t code);

// Not collective. Adds the metrics that are made of these curves, and the metrics of classes.
void add_curve_metrics(const EvaluationSession& session,
                       const std::vector<ordered_metrics::CurveCounts>& curves,
                       metrics::Results& results);

// Collective. Intervals for the same, on rank 0; `whole`: the curves of all samples.
void add_curve_intervals(const comm::Communicator& comm, const EvaluationSession& session,
                         const LocalUnits& local,
                         const std::vector<ordered_metrics::CurveCounts>& whole,
                         metrics::Results& results);

// The points of the curves, for metrics.h5.
std::vector<report::Curve> points_of(const std::vector<ordered_metrics::CurveCounts>& curves);

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
