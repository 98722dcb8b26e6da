// --batch-size auto.
#pragma once

#include <cstdint>

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Whether each thread of a rank has a piece of every batch of that size.
bool threads_share(const EvaluationSession& session, std::int64_t size);

// Collective. --batch-size, and with `auto` the model card's fixed one, else the one that rank 0
// finds fastest, while the other ranks wait. The session has its model, data set and task.
std::int64_t settled_batch_size(const comm::Communicator& comm, const EvaluationSession& session,
                                Notes& notes);

}  // namespace tally::app
