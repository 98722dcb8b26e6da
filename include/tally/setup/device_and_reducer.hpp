// SPDX-License-Identifier: Apache-2.0
// Chooses the device of each rank, and the reducer.
#pragma once

#include <memory>
#include <string>

#include <tally/comm/communicator.hpp>
#include <tally/comm/reducer.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. The device of --device (`asked`) for each rank, without a stream. Throws
// comm::AgreedFailure (environment) in seconds where the ranks' devices do not go together.
Hardware place_ranks(const comm::Communicator& comm, const std::string& asked, Notes& notes);

// Collective. The reducer of --reduce for ranks that have their devices. Throws comm::AgreedFailure
// (environment).
std::unique_ptr<comm::Reducer> choose_reducer(const comm::Communicator& comm,
                                              const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
