// SPDX-License-Identifier: Apache-2.0
// Adds up the states of all ranks.
#pragma once

#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/exact/state.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. `state` becomes that of the whole run, on every rank; with --check-reduction added up
// twice and compared. Throws comm::AgreedFailure.
void reduce(const comm::Communicator& comm, const EvaluationSession& session, exact::State& state);
// Collective. The same for several states of one layout, which are canonical then; as many on every
// rank.
void reduce_all(const comm::Communicator& comm, const EvaluationSession& session,
                std::vector<exact::State>& states);

}  // namespace tally::app
