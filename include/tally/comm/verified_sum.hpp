// A second way to add up the states of all ranks, to check the first.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/reducer.hpp>
#include <tally/exact/state.hpp>

namespace tally::comm {

// Collective. Adds up `state` over all ranks by `reducer`, and once more by gathering everybody's
// integers at rank 0, which adds them and sends them to all: bit for bit the same, or every rank
// throws AgreedFailure(internal) after a line that names the span and both values. Needs a copy of
// the state on every rank, and at most 64 MiB more on rank 0.
void verified_sum(Reducer& reducer, const Communicator& comm, exact::State& state);

}  // namespace tally::comm
