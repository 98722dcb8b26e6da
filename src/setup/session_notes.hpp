// SPDX-License-Identifier: Apache-2.0
// What a user should know of a session before it runs: the model, the processors, options that
// change nothing, where the ranks run.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Adds notes for what a model's card says, or its absence, that changes what metrics mean.
void note_model(const EvaluationSession& session, Notes& notes);

// Collective. Adds a note if the processors of some ranks announce AMX but cannot run it.
void note_amx(const comm::Communicator& comm, const EvaluationSession& session, Notes& notes);

// Adds a note where another batch size would leave less of a rank's work to padding.
void note_balance(const EvaluationSession& session, int world_size, Notes& notes);

// Adds a note where --limit is more than there is.
void note_limit(const EvaluationSession& session, Notes& notes);

// Adds a note for each option that is given and changes nothing: a user expects something of it.
void note_unused_options(const EvaluationSession& session, Notes& notes);

// Hints on where the ranks run, for the author of the launch command.

// Collective. Adds notes: cores that no rank uses; ranks that may run on another NUMA node than
// their memory, or than their GPU.
void note_binding(const comm::Communicator& comm, const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
