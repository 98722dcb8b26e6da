// SPDX-License-Identifier: Apache-2.0
// Runs the loops of all ranks, and ends them together where a signal asks one of them to stop.
#pragma once

#include <optional>

#include <tally/comm/communicator.hpp>
#include <tally/report/event_log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. What this rank's slice gives; all ranks have come to the end of theirs. `events` is
// set on rank 0. Adds the phase "evaluate".
//
// Throws StopRequested on all ranks where one was asked to stop and the run can go on later: what
// was done is kept in the folder of the result, but for a watch, which begins anew with the
// checkpoint. Throws AgreedFailure where a watch finds outputs that are not finite, and
// comm::PeerFailed where a peer has failed. What else it throws must end the MPI job.
LocalSamples loop_on_all_ranks(const comm::Communicator& comm, const EvaluationSession& session,
                               report::EventLog* events, Phases& phases, Notes& notes);

}  // namespace tally::app
