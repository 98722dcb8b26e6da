// SPDX-License-Identifier: Apache-2.0
// Copies this node's part of the data set to a disk of its own (--stage).
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Fails where the folder cannot take what the ranks of its node are going to read:
// Error(output) with what is needed and what is free. Without --stage nothing happens.
void check_stage_folder(const comm::Communicator& comm, const EvaluationSession& session);

// Collective. Copies the stored bytes of each rank's samples there, and has them read from the copy
// from now on.
void stage_data(const comm::Communicator& comm, EvaluationSession& session);

}  // namespace tally::app
