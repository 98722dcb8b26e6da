// SPDX-License-Identifier: Apache-2.0
// Whether a model has room where it is to run, asked before it is read.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Throws AgreedFailure (environment) where the model's file alone says that its weights
// do not fit: into the memory of a node for all its ranks, or into the free memory of the GPU.
// Rank 0 looks at the file; what it cannot see shows when it is read.
void check_model_fits(const comm::Communicator& comm, const EvaluationSession& session);

}  // namespace tally::app
