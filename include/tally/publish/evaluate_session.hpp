// SPDX-License-Identifier: Apache-2.0
// Runs one evaluation of an open session, from the loop to the files of its result.
#pragma once

#include <optional>

#include <tally/comm/communicator.hpp>
#include <tally/report/run_report.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Throws AgreedFailure where a file that samples are read from was written to since it
// was opened.
void require_unchanged_data(const comm::Communicator& comm, const EvaluationSession& session);

// Collective. Evaluates every rank's slice and publishes the result in the folder
// session.output.folder; returns its report on rank 0, with the session's notes and what the
// evaluation adds to them. Throws, on all ranks, StopRequested where one was asked to stop:
// progress is left behind, by a watch nothing; and of a watch AgreedFailure where outputs were not
// finite. comm::PeerFailed where a peer has failed, and what else it throws beside AgreedFailure,
// must end the MPI job.
std::optional<report::RunReport> evaluate_session(const comm::Communicator& comm,
                                                  const EvaluationSession& session, Phases& phases,
                                                  Notes& notes);

}  // namespace tally::app
