// --batch-size auto.
#pragma once

#include <tally/comm/communicator.hpp>

#include "session.hpp"

namespace tally::app {

// Whether each thread of a rank has a piece of every batch of that size.
bool threads_share(const EvaluationSession& session, std::int64_t size);

// Collective. Where the batch size was left open: the model card's fixed one, else the one that
// rank 0 finds fastest, while the other ranks wait. Model, data set and task are there.
void settle_batch_size(const comm::Communicator& comm, EvaluationSession& session);

}  // namespace tally::app
