// Counts the subgroups of a data set after the loop.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/exact/state.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/scoring.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Not collective. To which value of `groups` each of this rank's samples belongs, as its place.
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
