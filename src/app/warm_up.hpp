// A predictor made ready for the loop, at the start of a job and with each new weights.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/weights/checkpoint.hpp>

#include "session.hpp"

namespace tally::app {

// Collective. Which input goes where, and one batch of zeros: each predictor settles by one how it
// runs; then whether it gives the same scores twice (comparability.hpp). Throws AgreedFailure on
// all ranks where model and data set do not fit each other.
void warm_up(const comm::Communicator& comm, EvaluationSession& session);

// Collective. Other weights in place of those that the job has, which has no predictor then. Throws
// AgreedFailure(model) on all ranks where they cannot be read or do not fit: the job takes other
// weights. The notes of what was chosen.
std::vector<std::string> take_weights(const comm::Communicator& comm, EvaluationSession& session,
                                      const weights::Checkpoint& checkpoint);

// Collective. A predictor with the weights that were taken, warm. Throws AgreedFailure.
void build_predictor(const comm::Communicator& comm, EvaluationSession& session);

}  // namespace tally::app
