// What all ranks together have counted.
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

// What all ranks found together.
struct GlobalResult {
  metrics::Results results;
  std::vector<report::GroupMetrics> groups;
  std::vector<report::Curve> curves;
  evaluate::NotFinite not_finite;  // on rank 0
  std::string state_digest;
};

// Collective. Adds up what the ranks counted. Throws comm::AgreedFailure on all ranks: numeric
// where outputs were not finite and --on-nan does not allow it, internal when the evidence is not
// that of every sample exactly once.
GlobalResult merge_results(const comm::Communicator& comm, const EvaluationSession& session,
                           LocalUnits& local);

}  // namespace tally::app
