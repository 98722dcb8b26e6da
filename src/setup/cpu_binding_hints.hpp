// Hints on where the ranks run, for the author of the launch command.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Adds notes: cores that no rank uses; ranks that may run on another NUMA node than
// their memory, or than their GPU.
void note_binding(const comm::Communicator& comm, const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
