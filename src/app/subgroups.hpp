// The subgroups of a data set, found before the loop and counted after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/exact/state.hpp>
#include <tally/report/run_report.hpp>

namespace tally::app {

struct EvaluationSession;
struct LocalUnits;
class Notes;

// One dataset under /groups.
struct Subgroups {
  std::size_t column = 0;            // in DataSetInfo::groups
  std::vector<std::int32_t> values;  // all that occur in the evaluated samples, ascending
};

// Collective. The subgroups of every dataset under /groups; what cannot be kept becomes a note.
// Each rank reads its slice of them.
std::vector<Subgroups> find_subgroups(const comm::Communicator& comm,
                                      const EvaluationSession& session, Notes& notes);

// Not collective. To which value of `groups` each of this rank's samples belongs, as its place.
std::vector<std::int32_t> group_codes(const EvaluationSession& session, const LocalUnits& local,
                                      const Subgroups& groups);

// Collective. One state per value of `groups`, of the whole run, on every rank. Throws what must
// end the MPI job.
std::vector<exact::State> count_subgroups(const comm::Communicator& comm,
                                          const EvaluationSession& session, const LocalUnits& local,
                                          const Subgroups& groups,
                                          const std::vector<std::int32_t>& codes);

// The figures of these states.
report::GroupFigures figures_of(const EvaluationSession& session, const Subgroups& groups,
                                const std::vector<exact::State>& states);

}  // namespace tally::app
