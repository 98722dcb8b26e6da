// Which device and which reducer a run has, and how its parts are added up.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/exact/state.hpp>

#include "notes.hpp"
#include "session.hpp"

namespace tally::app {

// Collective. The device of --device (`asked`) for each rank, without a stream. Throws
// comm::AgreedFailure (environment) in seconds where the ranks' devices do not go together.
Hardware place_ranks(const comm::Communicator& comm, const std::string& asked, Notes& notes);

// Collective. The reducer of --reduce for ranks that have their devices. Throws comm::AgreedFailure
// (environment).
std::unique_ptr<comm::Reducer> choose_reducer(const comm::Communicator& comm,
                                              const EvaluationSession& session, Notes& notes);

// Collective. `state` becomes that of the whole run, on every rank; with --check-reduction added up
// twice and compared. Throws comm::AgreedFailure.
void reduce(const comm::Communicator& comm, const EvaluationSession& session, exact::State& state);
// Collective. The same for several states of one layout, which are canonical then; as many on every
// rank.
void reduce_all(const comm::Communicator& comm, const EvaluationSession& session,
                std::vector<exact::State>& states);

// Versions and settings of what adds up, and of what computes on a GPU: for the report.
std::vector<std::pair<std::string, std::string>> device_facts(const EvaluationSession& session);

}  // namespace tally::app
