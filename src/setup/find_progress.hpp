// SPDX-License-Identifier: Apache-2.0
// Finds the progress that a run is to go on from, and whether it is of this run.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. With --resume: reads the progress in the output folder, each rank some of its parts,
// and sets session.resumption, session.attempt and what follows from the first run (whether it
// overwrites). Throws AgreedFailure(output) where the folder cannot be read.
void find_progress(const comm::Communicator& comm, EvaluationSession& session);
// Of a planned session: what it goes on from.
void note_progress(const EvaluationSession& session, Notes& notes);

// Collective. Of an open session with a settled batch size: throws AgreedFailure where the progress
// is of another run, naming what differs.
void require_own_progress(const comm::Communicator& comm, EvaluationSession& session);

// Collective. Of an open session: whether the output folder holds the complete result of this run.
// Throws AgreedFailure(output) where it holds that of another one, and no progress of a run that
// was to replace it.
bool has_complete_result(const comm::Communicator& comm, const EvaluationSession& session);

// Shares out the batches that are left: plan.slice and plan.segments.
void plan_what_is_left(const comm::Communicator& comm, EvaluationSession& session);

}  // namespace tally::app
