// Finds the subgroups of a data set before the loop.
#pragma once

#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/scoring.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. The subgroups of every dataset under /groups; what cannot be kept becomes a note.
// Each rank reads its slice of them.
std::vector<Subgroups> find_subgroups(const comm::Communicator& comm,
                                      const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
