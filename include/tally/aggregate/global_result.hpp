// SPDX-License-Identifier: Apache-2.0
// Makes the result of a run after its loop: adds up what all ranks have counted, and computes the
// metrics that one count for each sample cannot give.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/metrics/results.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// What all ranks found together: complete on rank 0, whose digest alone is that of the run.
struct GlobalResult {
  metrics::Results results;
  std::vector<report::GroupMetrics> groups;
  std::vector<report::Curve> curves;
  evaluate::NotFinite not_finite;  // on rank 0
  std::string state_digest;
  report::ExchangedCounts counts;
};

// Collective. Adds up what the ranks counted. Throws comm::AgreedFailure on all ranks: numeric
// where outputs were not finite and --on-nan does not allow it, internal when the evidence is not
// that of every sample exactly once.
GlobalResult merge_results(const comm::Communicator& comm, const EvaluationSession& session,
                           LocalUnits& local);

// Metrics that one count for each sample cannot give: curves, Spearman's correlation, average
// precision, subgroups and intervals.

// Collective. Computes all of them, of retained samples, into rank 0's `global`. What it throws
// must end the MPI job.
void compute_post_loop_metrics(const comm::Communicator& comm, const EvaluationSession& session,
                               LocalUnits& local, GlobalResult& global);

}  // namespace tally::app
