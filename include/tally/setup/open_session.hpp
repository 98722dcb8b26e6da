// SPDX-License-Identifier: Apache-2.0
// Opens an evaluation session: everything that a run needs before its first batch.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/config/run_options.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Reads the settings, opens files, device and model, and runs one warm-up batch:
// whatever can fail for a foreseeable reason fails here, on all ranks with one line, before
// anything is written.
EvaluationSession open_session(const comm::Communicator& comm, config::RunKind kind,
                               const std::vector<std::string>& arguments, Phases& phases,
                               Notes& notes);

// Collective. The last step of that: which samples each rank evaluates, and their subgroups. The
// session has everything else. Throws comm::AgreedFailure.
void plan_batches(const comm::Communicator& comm, EvaluationSession& session, Notes& notes);

}  // namespace tally::app
